-- The copy that the servers have of a chain's checkpoint, for agents that do not see its store.
ALTER TABLE "checkpoints"
  ADD COLUMN "relay_attempt" INTEGER,
  ADD COLUMN "relay_sha256" TEXT,
  ADD COLUMN "relay_bytes" BIGINT,
  ADD COLUMN "relay_at" TIMESTAMPTZ(3),
  ADD CONSTRAINT "checkpoints_relay_whole" CHECK (num_nulls("relay_attempt", "relay_sha256", "relay_bytes", "relay_at") IN (0, 4));
