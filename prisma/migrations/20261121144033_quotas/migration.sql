-- CreateEnum
CREATE TYPE "quota_scope" AS ENUM ('USER', 'PROJECT', 'DOMAIN');

-- AlterTable
ALTER TABLE "agents" ADD COLUMN "drained_at" TIMESTAMPTZ(3),
ADD COLUMN "drain_reason" TEXT;

-- AlterTable
ALTER TABLE "resource_groups" ADD COLUMN "allowed_session_types" "session_type"[] DEFAULT ARRAY['BATCH', 'INTERACTIVE', 'INFERENCE']::"session_type"[],
ADD COLUMN "drained_at" TIMESTAMPTZ(3),
ADD COLUMN "drain_reason" TEXT;

-- Nothing ever wrote to the old shape.
DROP TABLE "resource_policies";

-- CreateTable
CREATE TABLE "resource_policies" (
    "scope" "quota_scope" NOT NULL,
    "scope_id" UUID NOT NULL,
    "slots" JSONB NOT NULL DEFAULT '{}',
    "max_running" INTEGER,
    "max_pending" INTEGER,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "resource_policies_pkey" PRIMARY KEY ("scope","scope_id")
);

-- What Prisma's schema language cannot say.

ALTER TABLE "resource_policies"
  ADD CONSTRAINT "resource_policies_limits" CHECK ("max_running" >= 0 AND "max_pending" >= 0),
  ADD CONSTRAINT "resource_policies_slots" CHECK (jsonb_typeof("slots") = 'object'
    AND NOT jsonb_path_exists("slots", '$.* ? (@.type() != "string" || !(@ like_regex "^[0-9]+([.][0-9]+)?$"))')),
  ADD CONSTRAINT "resource_policies_limit_something"
    CHECK ("max_running" IS NOT NULL OR "max_pending" IS NOT NULL OR "slots" <> '{}');

ALTER TABLE "resource_groups"
  ADD CONSTRAINT "resource_groups_drain_reason" CHECK ("drained_at" IS NOT NULL OR "drain_reason" IS NULL),
  ADD CONSTRAINT "resource_groups_allowed" CHECK (coalesce(cardinality("allowed_session_types"), 0) > 0);

-- Whoever is to be drained is DRAINING while it is heard, never ALIVE or SUSPECT.
UPDATE "agents" SET "drained_at" = now() WHERE "status" = 'DRAINING';
ALTER TABLE "agents"
  ADD CONSTRAINT "agents_draining" CHECK ("status" IN ('LOST', 'TERMINATED') OR ("status" = 'DRAINING') = ("drained_at" IS NOT NULL)),
  ADD CONSTRAINT "agents_drain_reason" CHECK ("drained_at" IS NOT NULL OR "drain_reason" IS NULL);

-- What counts against quotas: sessions that are not finished, of one project or user.
CREATE INDEX "sessions_live_of_project" ON "sessions" ("project_id", "status")
  WHERE "status" NOT IN ('TERMINATED', 'ERROR', 'CANCELLED');
CREATE INDEX "sessions_live_of_user" ON "sessions" ("user_id", "status")
  WHERE "status" NOT IN ('TERMINATED', 'ERROR', 'CANCELLED') AND "user_id" IS NOT NULL;
