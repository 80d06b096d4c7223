-- When the checkpoint that a session found was recorded; of one that was fetched, when the copy was made.
ALTER TABLE "session_checkpoints" ADD COLUMN "published_at" TIMESTAMPTZ(3);
