-- AlterTable
ALTER TABLE "sessions" ADD COLUMN     "concurrency_key" TEXT,
ADD COLUMN     "concurrency_limit" INTEGER,
ADD COLUMN     "waits_for_key" BOOLEAN NOT NULL DEFAULT false;

-- CreateTable
CREATE TABLE "freed_concurrency_keys" (
    "id" BIGSERIAL NOT NULL,
    "project_id" UUID NOT NULL,
    "key" TEXT NOT NULL,
    "due_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "freed_concurrency_keys_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "freed_concurrency_keys_due_at_idx" ON "freed_concurrency_keys"("due_at");

-- What Prisma's schema language cannot say.

ALTER TABLE "sessions"
  ADD CONSTRAINT "sessions_concurrency" CHECK (("concurrency_key" IS NULL) = ("concurrency_limit" IS NULL)
    AND "concurrency_limit" >= 1 AND ("concurrency_key" IS NOT NULL OR NOT "waits_for_key"));

-- Those that hold a key: from being scheduled to their end. One that goes back to the queue holds it while it rests.
CREATE INDEX "sessions_holding_key" ON "sessions" ("project_id", "concurrency_key")
  WHERE "concurrency_key" IS NOT NULL
    AND ("status" IN ('SCHEDULED', 'PREPARING', 'PULLING', 'PREPARED', 'CREATING', 'RUNNING', 'TERMINATING')
      OR "status" = 'PENDING' AND "reschedules" > 0 AND NOT "waits_for_key");

-- Those that wait for a key, in their order.
CREATE INDEX "sessions_waiting_for_key"
  ON "sessions" ("project_id", "concurrency_key", "priority" DESC, "created_at", "id")
  WHERE "status" = 'PENDING' AND "waits_for_key";

CREATE INDEX "sessions_by_key" ON "sessions" ("concurrency_key", "created_at" DESC, "id" DESC)
  WHERE "concurrency_key" IS NOT NULL;

-- Kernels that have ended, as far as is known, on agents that have not confirmed it.
CREATE INDEX "kernels_unconfirmed" ON "kernels" ("agent_id", "session_id")
  WHERE NOT "confirmed_gone" AND "terminated_at" IS NOT NULL;

-- Each key that has lost a holder, or one that waited for it, in the transaction in which it did.
CREATE FUNCTION free_concurrency_key() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO freed_concurrency_keys (project_id, key) VALUES (OLD.project_id, OLD.concurrency_key);
  RETURN NULL;
END $$;

CREATE TRIGGER sessions_free_keys AFTER UPDATE ON "sessions" FOR EACH ROW
  WHEN (OLD.concurrency_key IS NOT NULL AND OLD.status <> NEW.status
    AND NEW.status IN ('PENDING', 'TERMINATED', 'ERROR', 'CANCELLED'))
  EXECUTE FUNCTION free_concurrency_key();

CREATE FUNCTION free_key_of_kernel() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO freed_concurrency_keys (project_id, key)
  SELECT s.project_id, s.concurrency_key FROM sessions s WHERE s.id = NEW.session_id AND s.concurrency_key IS NOT NULL;
  RETURN NULL;
END $$;

CREATE TRIGGER kernels_free_keys AFTER UPDATE ON "kernels" FOR EACH ROW
  WHEN (NEW.confirmed_gone AND NOT OLD.confirmed_gone AND OLD.status IN ('TERMINATED', 'ERROR', 'CANCELLED'))
  EXECUTE FUNCTION free_key_of_kernel();
