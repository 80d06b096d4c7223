-- CreateEnum
CREATE TYPE "webhook_delivery_status" AS ENUM ('PENDING', 'DELIVERED', 'FAILED');

-- CreateTable
CREATE TABLE "webhooks" (
    "id" UUID NOT NULL,
    "project_id" UUID,
    "url" TEXT NOT NULL,
    "description" TEXT NOT NULL DEFAULT '',
    "event_types" TEXT[],
    "chain_id" UUID,
    "labels" JSONB NOT NULL DEFAULT '{}',
    "secret" BYTEA NOT NULL,
    "previous_secret" BYTEA,
    "previous_secret_expires_at" TIMESTAMPTZ(3),
    "enabled" BOOLEAN NOT NULL DEFAULT true,
    "disabled_reason" TEXT,
    "disabled_at" TIMESTAMPTZ(3),
    "active_since" pg_snapshot NOT NULL DEFAULT pg_current_snapshot(),
    "failing_since" TIMESTAMPTZ(3),
    "last_delivered_at" TIMESTAMPTZ(3),
    "resting_until" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "webhooks_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "webhook_deliveries" (
    "id" UUID NOT NULL,
    "webhook_id" UUID NOT NULL,
    "event_id" BIGINT,
    "event_type" TEXT NOT NULL,
    "occurred_at" TIMESTAMPTZ(3) NOT NULL,
    "session_id" UUID,
    "chain_id" UUID,
    "facts" JSONB NOT NULL,
    "status" "webhook_delivery_status" NOT NULL DEFAULT 'PENDING',
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "failures" INTEGER NOT NULL DEFAULT 0,
    "failing_since" TIMESTAMPTZ(3),
    "next_attempt_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "under_way" BOOLEAN NOT NULL DEFAULT false,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "webhook_deliveries_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "webhook_attempts" (
    "delivery_id" UUID NOT NULL,
    "number" INTEGER NOT NULL,
    "started_at" TIMESTAMPTZ(3) NOT NULL,
    "duration_ms" INTEGER NOT NULL,
    "status_code" INTEGER,
    "error" TEXT,
    "response" TEXT,

    CONSTRAINT "webhook_attempts_pkey" PRIMARY KEY ("delivery_id","number")
);

-- CreateIndex
CREATE INDEX "session_events_occurred_at_idx" ON "session_events" USING BRIN ("occurred_at");

-- CreateIndex
CREATE INDEX "webhooks_project_id_created_at_id_idx" ON "webhooks"("project_id", "created_at", "id");

-- CreateIndex
CREATE UNIQUE INDEX "webhook_deliveries_webhook_id_event_id_key" ON "webhook_deliveries"("webhook_id", "event_id");

-- CreateIndex
CREATE INDEX "webhook_deliveries_webhook_id_created_at_id_idx" ON "webhook_deliveries"("webhook_id", "created_at", "id");

-- AddForeignKey
ALTER TABLE "webhooks" ADD CONSTRAINT "webhooks_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_webhook_id_fkey" FOREIGN KEY ("webhook_id") REFERENCES "webhooks"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "webhook_attempts" ADD CONSTRAINT "webhook_attempts_delivery_id_fkey" FOREIGN KEY ("delivery_id") REFERENCES "webhook_deliveries"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- What Prisma's schema language cannot say.

-- Work of deliver-webhooks: of each webhook what is due, in the order of events.
CREATE INDEX "webhook_deliveries_queue" ON "webhook_deliveries" ("webhook_id", "next_attempt_at", "event_id")
  WHERE "status" = 'PENDING';

ALTER TABLE "webhooks"
  ADD CONSTRAINT "webhooks_event_types" CHECK (cardinality("event_types") >= 1),
  ADD CONSTRAINT "webhooks_secret" CHECK (octet_length("secret") BETWEEN 24 AND 64),
  ADD CONSTRAINT "webhooks_previous_secret" CHECK (("previous_secret" IS NULL) = ("previous_secret_expires_at" IS NULL)),
  ADD CONSTRAINT "webhooks_disabled" CHECK ("enabled" = ("disabled_at" IS NULL) AND NOT ("enabled" AND "disabled_reason" IS NOT NULL));

ALTER TABLE "webhook_deliveries"
  ADD CONSTRAINT "webhook_deliveries_finished" CHECK (("finished_at" IS NOT NULL) = ("status" <> 'PENDING')),
  ADD CONSTRAINT "webhook_deliveries_under_way" CHECK (NOT "under_way" OR "status" = 'PENDING'),
  ADD CONSTRAINT "webhook_deliveries_counts" CHECK ("attempts" >= 0 AND "failures" >= 0);

-- How far the outbox has been turned into deliveries: (xid, id) of the last event that was looked at.
INSERT INTO "settings" ("key", "value") VALUES ('webhooks.cursor', '{"xid": "0", "id": "0"}');
