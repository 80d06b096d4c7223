-- Grace period of a session, in seconds; null for that of its resource group.
ALTER TABLE "sessions" ADD COLUMN "stop_grace" DOUBLE PRECISION CHECK ("stop_grace" >= 0);

-- The longest grace period that a session may ask for, in milliseconds.
ALTER TABLE "resource_groups" ADD COLUMN "stop_grace_max_ms" INTEGER NOT NULL DEFAULT 3600000 CHECK ("stop_grace_max_ms" >= 0);
