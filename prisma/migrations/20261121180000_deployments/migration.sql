-- AlterEnum
ALTER TYPE "history_entity" ADD VALUE 'DEPLOYMENT';
ALTER TYPE "history_entity" ADD VALUE 'ROUTE';

-- AlterEnum
ALTER TYPE "scheduling_result" ADD VALUE 'FAILURE';
ALTER TYPE "scheduling_result" ADD VALUE 'STALE';

-- CreateEnum
CREATE TYPE "deployment_status" AS ENUM ('PENDING', 'CREATED', 'DEPLOYING', 'SCALING', 'READY', 'DESTROYING', 'DESTROYED');

-- CreateEnum
CREATE TYPE "route_status" AS ENUM ('PROVISIONING', 'HEALTHY', 'UNHEALTHY', 'DEGRADED', 'TERMINATING', 'TERMINATED', 'FAILED_TO_START');

-- AlterTable
ALTER TABLE "sessions" ADD COLUMN "port_variable" TEXT;

-- AlterTable
ALTER TABLE "kernels" ADD COLUMN "port" INTEGER;

-- AlterTable
ALTER TABLE "session_events" ALTER COLUMN "session_id" DROP NOT NULL,
ALTER COLUMN "chain_id" DROP NOT NULL,
ADD COLUMN "deployment_id" UUID,
ADD COLUMN "route_id" UUID;

-- CreateTable
CREATE TABLE "deployments" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "user_id" UUID,
    "creation_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "status" "deployment_status" NOT NULL DEFAULT 'PENDING',
    "status_reason" TEXT,
    "replicas" INTEGER NOT NULL,
    "min_healthy" INTEGER,
    "max_surge" INTEGER,
    "revision" INTEGER NOT NULL DEFAULT 1,
    "failures" INTEGER NOT NULL DEFAULT 0,
    "next_route_at" TIMESTAMPTZ(3),
    "created_by" TEXT,
    "destroyed_by" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "status_changed_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "destroyed_at" TIMESTAMPTZ(3),

    CONSTRAINT "deployments_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "deployment_revisions" (
    "deployment_id" UUID NOT NULL,
    "revision" INTEGER NOT NULL,
    "resource_group" TEXT NOT NULL,
    "image" TEXT,
    "command" TEXT[],
    "environ" JSONB NOT NULL DEFAULT '[]',
    "resource_slots" JSONB NOT NULL DEFAULT '{}',
    "priority" SMALLINT NOT NULL,
    "labels" JSONB NOT NULL DEFAULT '{}',
    "agent_labels" JSONB NOT NULL DEFAULT '{}',
    "port_variable" TEXT NOT NULL,
    "health_path" TEXT NOT NULL,
    "health_interval_ms" INTEGER NOT NULL,
    "health_timeout_ms" INTEGER NOT NULL,
    "healthy_threshold" INTEGER NOT NULL,
    "unhealthy_threshold" INTEGER NOT NULL,
    "initial_delay_ms" INTEGER NOT NULL,
    "stale_after_ms" INTEGER NOT NULL,
    "start_timeout_ms" INTEGER NOT NULL,
    "evict_after_ms" INTEGER NOT NULL,
    "drain_ms" INTEGER NOT NULL,
    "created_by" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "deployment_revisions_pkey" PRIMARY KEY ("deployment_id","revision")
);

-- CreateTable
CREATE TABLE "routes" (
    "id" UUID NOT NULL,
    "deployment_id" UUID NOT NULL,
    "revision" INTEGER NOT NULL,
    "session_id" UUID NOT NULL,
    "status" "route_status" NOT NULL DEFAULT 'PROVISIONING',
    "status_reason" TEXT,
    "host" TEXT,
    "port" INTEGER,
    "successes" INTEGER NOT NULL DEFAULT 0,
    "failures" INTEGER NOT NULL DEFAULT 0,
    "last_check_at" TIMESTAMPTZ(3),
    "last_check_fault" TEXT,
    "next_check_at" TIMESTAMPTZ(3),
    "published_at" TIMESTAMPTZ(3),
    "first_healthy_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "status_changed_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "terminated_at" TIMESTAMPTZ(3),

    CONSTRAINT "routes_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "deployments_created_at_id_idx" ON "deployments"("created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "deployments_project_id_created_at_id_idx" ON "deployments"("project_id", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE UNIQUE INDEX "deployments_project_id_creation_id_key" ON "deployments"("project_id", "creation_id");

-- CreateIndex
CREATE UNIQUE INDEX "routes_session_id_key" ON "routes"("session_id");

-- CreateIndex
CREATE INDEX "routes_deployment_id_created_at_id_idx" ON "routes"("deployment_id", "created_at" DESC, "id" DESC);

-- AddForeignKey
ALTER TABLE "deployments" ADD CONSTRAINT "deployments_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "deployments" ADD CONSTRAINT "deployments_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "deployment_revisions" ADD CONSTRAINT "deployment_revisions_deployment_id_fkey" FOREIGN KEY ("deployment_id") REFERENCES "deployments"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "routes" ADD CONSTRAINT "routes_deployment_id_fkey" FOREIGN KEY ("deployment_id") REFERENCES "deployments"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "routes" ADD CONSTRAINT "routes_deployment_id_revision_fkey" FOREIGN KEY ("deployment_id", "revision") REFERENCES "deployment_revisions"("deployment_id", "revision") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "routes" ADD CONSTRAINT "routes_session_id_fkey" FOREIGN KEY ("session_id") REFERENCES "sessions"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- What Prisma's schema language cannot say.

-- A name is free again when its deployment is gone.
CREATE UNIQUE INDEX "deployments_name" ON "deployments" ("project_id", "name") WHERE "status" <> 'DESTROYED';

-- Work of the deployment handlers.
CREATE INDEX "deployments_active" ON "deployments" ("status", "status_changed_at") WHERE "status" <> 'DESTROYED';

-- Work of the route handlers, and the replicas of a deployment.
CREATE INDEX "routes_active" ON "routes" ("status", "status_changed_at") WHERE "status" <> 'TERMINATED';
CREATE INDEX "routes_of_deployment" ON "routes" ("deployment_id") WHERE "status" <> 'TERMINATED';

-- Health checks that are due.
CREATE INDEX "routes_checks" ON "routes" ("next_check_at") WHERE "status" IN ('HEALTHY', 'UNHEALTHY', 'DEGRADED');

-- An event is of a session or of a deployment.
ALTER TABLE "session_events"
  ADD CONSTRAINT "session_events_subject" CHECK (
    CASE WHEN "session_id" IS NULL THEN "chain_id" IS NULL AND "deployment_id" IS NOT NULL
    ELSE "chain_id" IS NOT NULL AND "deployment_id" IS NULL AND "route_id" IS NULL END);

ALTER TABLE "kernels" ADD CONSTRAINT "kernels_port" CHECK ("port" BETWEEN 1 AND 65535);

ALTER TABLE "deployments"
  ADD CONSTRAINT "deployments_counts" CHECK ("replicas" >= 0 AND "min_healthy" >= 0 AND "max_surge" >= 0 AND "failures" >= 0),
  ADD CONSTRAINT "deployments_destroyed" CHECK (("destroyed_at" IS NOT NULL) = ("status" = 'DESTROYED'));

ALTER TABLE "deployment_revisions"
  ADD CONSTRAINT "deployment_revisions_numbers" CHECK ("revision" >= 1
    AND "health_interval_ms" > 0 AND "health_timeout_ms" > 0 AND "healthy_threshold" > 0 AND "unhealthy_threshold" > 0
    AND "initial_delay_ms" >= 0 AND "stale_after_ms" > 0 AND "start_timeout_ms" > 0 AND "evict_after_ms" >= 0
    AND "drain_ms" >= 0);

ALTER TABLE "routes"
  ADD CONSTRAINT "routes_counts" CHECK ("successes" >= 0 AND "failures" >= 0 AND ("successes" = 0 OR "failures" = 0)),
  ADD CONSTRAINT "routes_port" CHECK ("port" BETWEEN 1 AND 65535),
  ADD CONSTRAINT "routes_endpoint" CHECK (("host" IS NULL) = ("port" IS NULL)
    AND ("host" IS NOT NULL OR "status" NOT IN ('HEALTHY', 'UNHEALTHY', 'DEGRADED'))),
  ADD CONSTRAINT "routes_published" CHECK ("published_at" IS NULL OR "status" = 'HEALTHY'),
  ADD CONSTRAINT "routes_terminated" CHECK (("terminated_at" IS NOT NULL) = ("status" = 'TERMINATED'));
