-- A program that makes no progress for as long as its policy's progressTimeout is ended by its agent.
ALTER TYPE "failure_cause" ADD VALUE IF NOT EXISTS 'HUNG' BEFORE 'USER_CANCELLED';

-- The command that runs in a kernel before it is ended for that reason; empty for none.
ALTER TABLE "sessions" ADD COLUMN "on_hang" TEXT[] NOT NULL DEFAULT '{}';

-- The last line of the program's progress file, and when it was first reported.
ALTER TABLE "kernels" ADD COLUMN "progress" TEXT, ADD COLUMN "progress_at" TIMESTAMPTZ(3);

-- Finds what has made progress within the last seconds, for those who watch it.
CREATE INDEX "kernels_progress" ON "kernels" ("progress_at") WHERE "progress_at" IS NOT NULL;
