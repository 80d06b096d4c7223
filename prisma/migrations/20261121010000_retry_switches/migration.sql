-- CreateEnum
CREATE TYPE "retry_scope" AS ENUM ('CLUSTER', 'DOMAIN', 'PROJECT');

-- AlterTable
ALTER TABLE "domains" DROP COLUMN "retry_disabled";

-- AlterTable
ALTER TABLE "projects" DROP COLUMN "retry_disabled";

-- CreateTable
CREATE TABLE "retry_switches" (
    "scope" "retry_scope" NOT NULL,
    "scope_id" UUID NOT NULL,
    "disabled" BOOLEAN NOT NULL DEFAULT false,
    "disabled_until" TIMESTAMPTZ(3),
    "disabled_then" BOOLEAN NOT NULL DEFAULT false,
    "per_second" DOUBLE PRECISION,
    "burst" INTEGER,
    "limit_until" TIMESTAMPTZ(3),
    "per_second_then" DOUBLE PRECISION,
    "burst_then" INTEGER,
    "tokens" DOUBLE PRECISION NOT NULL DEFAULT 0,
    "refilled_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "retry_switches_pkey" PRIMARY KEY ("scope","scope_id")
);

-- What Prisma's schema language cannot say.

ALTER TABLE "retry_switches"
  ADD CONSTRAINT "retry_switches_limit" CHECK (("per_second" IS NULL) = ("burst" IS NULL) AND "per_second" > 0 AND "burst" >= 1),
  ADD CONSTRAINT "retry_switches_limit_then" CHECK (("per_second_then" IS NULL) = ("burst_then" IS NULL) AND "per_second_then" > 0 AND "burst_then" >= 1),
  ADD CONSTRAINT "retry_switches_tokens" CHECK ("tokens" >= 0),
  ADD CONSTRAINT "retry_switches_one_cluster" CHECK (("scope" = 'CLUSTER') = ("scope_id" = '00000000-0000-0000-0000-000000000000'));

-- The queue of dispatch-retries, a line for each project: one that failed ten thousand times at once keeps no other waiting.
DROP INDEX "retry_decisions_queue";
CREATE INDEX "retry_decisions_queue" ON "retry_decisions" ("project_id", "ready_at")
  WHERE "phase" IN ('SCHEDULED', 'HELD');

-- Where the line of what is held ends, and what a switch lets go.
CREATE INDEX "retry_decisions_held" ON "retry_decisions" ("project_id", "hold_reason", "ready_at")
  WHERE "phase" = 'HELD';
