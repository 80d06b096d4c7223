-- CreateSchema
CREATE SCHEMA IF NOT EXISTS "public";

-- CreateEnum
CREATE TYPE "session_type" AS ENUM ('BATCH', 'INTERACTIVE', 'INFERENCE');

-- CreateEnum
CREATE TYPE "session_status" AS ENUM ('PENDING', 'SCHEDULED', 'PREPARING', 'PULLING', 'PREPARED', 'CREATING', 'RUNNING', 'TERMINATING', 'TERMINATED', 'ERROR', 'CANCELLED');

-- CreateEnum
CREATE TYPE "kernel_status" AS ENUM ('PENDING', 'SCHEDULED', 'PREPARING', 'PULLING', 'PREPARED', 'CREATING', 'RUNNING', 'TERMINATING', 'TERMINATED', 'ERROR', 'CANCELLED');

-- CreateEnum
CREATE TYPE "session_result" AS ENUM ('UNDEFINED', 'SUCCESS', 'FAILURE');

-- CreateEnum
CREATE TYPE "cluster_mode" AS ENUM ('SINGLE_NODE', 'MULTI_NODE');

-- CreateEnum
CREATE TYPE "session_origin" AS ENUM ('INITIAL', 'AUTO_RETRY', 'RESUBMISSION');

-- CreateEnum
CREATE TYPE "failure_cause" AS ENUM ('AGENT_TRANSIENT', 'SCHEDULER_TIMEOUT', 'IMAGE_PULL_FAILURE', 'KERNEL_NONZERO_EXIT', 'OOM_KILLED', 'UNKNOWN', 'USER_CANCELLED', 'VALIDATION_ERROR', 'QUOTA_EXCEEDED');

-- CreateEnum
CREATE TYPE "retry_phase" AS ENUM ('NONE', 'UNDECIDED', 'SCHEDULED', 'HELD', 'DISPATCHED', 'SUCCEEDED', 'EXHAUSTED', 'NOT_ELIGIBLE', 'CANCELLED');

-- CreateEnum
CREATE TYPE "hold_reason" AS ENUM ('DISABLED', 'RATE_LIMITED', 'QUOTA', 'PARENT_ALIVE');

-- CreateEnum
CREATE TYPE "agent_status" AS ENUM ('ALIVE', 'SUSPECT', 'LOST', 'DRAINING', 'TERMINATED');

-- CreateEnum
CREATE TYPE "sequencer" AS ENUM ('FIFO', 'LIFO', 'DRF');

-- CreateEnum
CREATE TYPE "agent_selector" AS ENUM ('CONCENTRATED', 'DISPERSED', 'ROUND_ROBIN');

-- CreateEnum
CREATE TYPE "history_entity" AS ENUM ('SESSION', 'KERNEL', 'AGENT');

-- CreateEnum
CREATE TYPE "scheduling_result" AS ENUM ('SUCCESS', 'NEED_RETRY', 'EXPIRED', 'GIVE_UP', 'SKIPPED');

-- CreateEnum
CREATE TYPE "log_stream" AS ENUM ('STDOUT', 'STDERR');

-- CreateEnum
CREATE TYPE "token_role" AS ENUM ('ADMIN', 'MEMBER', 'VIEWER', 'AGENT');

-- CreateTable
CREATE TABLE "domains" (
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "retry_defaults" JSONB,
    "retry_disabled" BOOLEAN NOT NULL DEFAULT false,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "domains_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "projects" (
    "id" UUID NOT NULL,
    "domain_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "retry_defaults" JSONB,
    "retry_disabled" BOOLEAN NOT NULL DEFAULT false,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "projects_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "users" (
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "users_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "project_members" (
    "project_id" UUID NOT NULL,
    "user_id" UUID NOT NULL,
    "role" "token_role" NOT NULL,

    CONSTRAINT "project_members_pkey" PRIMARY KEY ("project_id","user_id")
);

-- CreateTable
CREATE TABLE "api_tokens" (
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "hash" BYTEA NOT NULL,
    "prefix" TEXT NOT NULL,
    "role" "token_role" NOT NULL,
    "project_id" UUID,
    "user_id" UUID,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3),
    "revoked_at" TIMESTAMPTZ(3),
    "last_used_at" TIMESTAMPTZ(3),

    CONSTRAINT "api_tokens_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "servers" (
    "id" UUID NOT NULL,
    "host" TEXT NOT NULL,
    "pid" INTEGER NOT NULL,
    "roles" TEXT[],
    "started_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_seen_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "servers_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "resource_groups" (
    "name" TEXT NOT NULL,
    "sequencer" "sequencer" NOT NULL DEFAULT 'FIFO',
    "selector" "agent_selector" NOT NULL DEFAULT 'DISPERSED',
    "tries_max" INTEGER NOT NULL DEFAULT 5,
    "reschedules_max" INTEGER NOT NULL DEFAULT 3,
    "pending_timeout_ms" INTEGER,
    "prepare_timeout_ms" INTEGER DEFAULT 900000,
    "create_timeout_ms" INTEGER DEFAULT 600000,
    "terminate_timeout_ms" INTEGER NOT NULL DEFAULT 120000,
    "fence_after_ms" INTEGER NOT NULL DEFAULT 120000,
    "stop_grace_ms" INTEGER NOT NULL DEFAULT 10000,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "resource_groups_pkey" PRIMARY KEY ("name")
);

-- CreateTable
CREATE TABLE "agents" (
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "resource_group" TEXT NOT NULL,
    "address" TEXT NOT NULL,
    "version" TEXT NOT NULL,
    "status" "agent_status" NOT NULL,
    "labels" JSONB NOT NULL DEFAULT '{}',
    "instance_id" UUID NOT NULL,
    "registered_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_heard_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "lease_from" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "agents_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "agent_slots" (
    "agent_id" UUID NOT NULL,
    "slot" TEXT NOT NULL,
    "declared" DECIMAL NOT NULL,
    "capacity" DECIMAL NOT NULL,
    "used" DECIMAL NOT NULL DEFAULT 0,

    CONSTRAINT "agent_slots_pkey" PRIMARY KEY ("agent_id","slot")
);

-- CreateTable
CREATE TABLE "sessions" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "user_id" UUID,
    "resource_group" TEXT NOT NULL,
    "creation_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "session_type" "session_type" NOT NULL,
    "image" TEXT,
    "command" TEXT[],
    "environ" JSONB NOT NULL DEFAULT '[]',
    "resource_slots" JSONB NOT NULL DEFAULT '{}',
    "cluster_mode" "cluster_mode" NOT NULL,
    "cluster_size" INTEGER NOT NULL,
    "batch_timeout" DOUBLE PRECISION,
    "starts_at" TIMESTAMPTZ(3),
    "priority" SMALLINT NOT NULL,
    "labels" JSONB NOT NULL DEFAULT '{}',
    "status" "session_status" NOT NULL DEFAULT 'PENDING',
    "result" "session_result" NOT NULL DEFAULT 'UNDEFINED',
    "status_reason" TEXT,
    "status_data" JSONB,
    "exit_code" INTEGER,
    "failure_cause" "failure_cause",
    "parent_session_id" UUID,
    "chain_id" UUID NOT NULL,
    "attempt" INTEGER NOT NULL,
    "epoch" INTEGER NOT NULL DEFAULT 0,
    "origin" "session_origin" NOT NULL DEFAULT 'INITIAL',
    "retry_count" INTEGER NOT NULL DEFAULT 0,
    "uncounted_retries" INTEGER NOT NULL DEFAULT 0,
    "max_retries" INTEGER NOT NULL DEFAULT 0,
    "retry_policy" JSONB NOT NULL,
    "retry_policy_sources" JSONB NOT NULL DEFAULT '{}',
    "retry_cause" "failure_cause",
    "retry_decided" BOOLEAN NOT NULL DEFAULT false,
    "epoch_started_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "avoid_agents" UUID[] DEFAULT ARRAY[]::UUID[],
    "allow_agents" UUID[] DEFAULT ARRAY[]::UUID[],
    "avoid_groups" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "tries" INTEGER NOT NULL DEFAULT 0,
    "next_try_at" TIMESTAMPTZ(3),
    "reschedules" INTEGER NOT NULL DEFAULT 0,
    "skips" INTEGER NOT NULL DEFAULT 0,
    "pending_reason" TEXT,
    "terminated_by" TEXT,
    "terminate_force" BOOLEAN NOT NULL DEFAULT false,
    "times_out_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "status_changed_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "started_at" TIMESTAMPTZ(3),
    "terminated_at" TIMESTAMPTZ(3),

    CONSTRAINT "sessions_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "session_dependencies" (
    "session_id" UUID NOT NULL,
    "chain_id" UUID NOT NULL,

    CONSTRAINT "session_dependencies_pkey" PRIMARY KEY ("session_id","chain_id")
);

-- CreateTable
CREATE TABLE "kernels" (
    "id" UUID NOT NULL,
    "session_id" UUID NOT NULL,
    "role" TEXT NOT NULL,
    "index" INTEGER NOT NULL,
    "agent_id" UUID,
    "assignment" INTEGER NOT NULL DEFAULT 0,
    "status" "kernel_status" NOT NULL DEFAULT 'PENDING',
    "exit_code" INTEGER,
    "oom_killed" BOOLEAN NOT NULL DEFAULT false,
    "reason" TEXT,
    "error" JSONB,
    "resource_slots" JSONB NOT NULL,
    "slots_held" BOOLEAN NOT NULL DEFAULT false,
    "confirmed_gone" BOOLEAN NOT NULL DEFAULT true,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "status_changed_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "started_at" TIMESTAMPTZ(3),
    "terminated_at" TIMESTAMPTZ(3),

    CONSTRAINT "kernels_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "kernel_logs" (
    "id" BIGSERIAL NOT NULL,
    "kernel_id" UUID NOT NULL,
    "stream" "log_stream" NOT NULL,
    "offset" BIGINT NOT NULL,
    "bytes" INTEGER NOT NULL,
    "text" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "kernel_logs_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "retry_decisions" (
    "session_id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "chain_id" UUID NOT NULL,
    "phase" "retry_phase" NOT NULL,
    "cause" "failure_cause",
    "matched_rule" INTEGER,
    "counted" BOOLEAN NOT NULL DEFAULT true,
    "base_delay_ms" INTEGER,
    "jitter_ms" INTEGER,
    "delay_ms" INTEGER,
    "due_at" TIMESTAMPTZ(3),
    "ready_at" TIMESTAMPTZ(3),
    "hold_reason" "hold_reason",
    "child_session_id" UUID,
    "explanation" TEXT NOT NULL,
    "details" JSONB NOT NULL DEFAULT '{}',
    "decided_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "dispatched_at" TIMESTAMPTZ(3),

    CONSTRAINT "retry_decisions_pkey" PRIMARY KEY ("session_id")
);

-- CreateTable
CREATE TABLE "resubmissions" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "client_key" TEXT NOT NULL,
    "actor" TEXT NOT NULL,
    "overrides" JSONB NOT NULL,
    "session_ids" UUID[],
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "resubmissions_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "scheduling_history" (
    "id" BIGSERIAL NOT NULL,
    "entity" "history_entity" NOT NULL,
    "entity_id" UUID NOT NULL,
    "phase" TEXT NOT NULL,
    "from_status" TEXT,
    "to_status" TEXT,
    "result" "scheduling_result" NOT NULL,
    "error_code" TEXT,
    "message" TEXT,
    "attempts" INTEGER NOT NULL DEFAULT 1,
    "first_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "scheduling_history_pkey" PRIMARY KEY ("entity_id","id")
);

-- CreateTable
CREATE TABLE "session_events" (
    "id" BIGSERIAL NOT NULL,
    "xid" xid8 NOT NULL DEFAULT pg_current_xact_id(),
    "type" TEXT NOT NULL,
    "session_id" UUID NOT NULL,
    "chain_id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "data" JSONB NOT NULL DEFAULT '{}',
    "occurred_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "session_events_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "audit_log" (
    "id" BIGSERIAL NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "actor" TEXT NOT NULL,
    "action" TEXT NOT NULL,
    "project_id" UUID,
    "session_id" UUID,
    "details" JSONB NOT NULL DEFAULT '{}',

    CONSTRAINT "audit_log_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "settings" (
    "key" TEXT NOT NULL,
    "value" JSONB NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "settings_pkey" PRIMARY KEY ("key")
);

-- CreateTable
CREATE TABLE "resource_policies" (
    "id" UUID NOT NULL,
    "scope" TEXT NOT NULL,
    "scope_name" TEXT NOT NULL,
    "slots" JSONB NOT NULL DEFAULT '{}',
    "max_running" INTEGER,
    "max_pending" INTEGER,

    CONSTRAINT "resource_policies_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "domains_name_key" ON "domains"("name");

-- CreateIndex
CREATE UNIQUE INDEX "projects_name_key" ON "projects"("name");

-- CreateIndex
CREATE UNIQUE INDEX "users_name_key" ON "users"("name");

-- CreateIndex
CREATE UNIQUE INDEX "api_tokens_hash_key" ON "api_tokens"("hash");

-- CreateIndex
CREATE INDEX "sessions_created_at_id_idx" ON "sessions"("created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "sessions_project_id_created_at_id_idx" ON "sessions"("project_id", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE UNIQUE INDEX "sessions_chain_id_attempt_key" ON "sessions"("chain_id", "attempt");

-- CreateIndex
CREATE UNIQUE INDEX "sessions_project_id_creation_id_key" ON "sessions"("project_id", "creation_id");

-- CreateIndex
CREATE INDEX "session_dependencies_chain_id_idx" ON "session_dependencies"("chain_id");

-- CreateIndex
CREATE UNIQUE INDEX "kernels_session_id_role_index_key" ON "kernels"("session_id", "role", "index");

-- CreateIndex
CREATE INDEX "kernel_logs_kernel_id_id_idx" ON "kernel_logs"("kernel_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "kernel_logs_kernel_id_stream_offset_key" ON "kernel_logs"("kernel_id", "stream", "offset");

-- CreateIndex
CREATE INDEX "retry_decisions_decided_at_session_id_idx" ON "retry_decisions"("decided_at", "session_id");

-- CreateIndex
CREATE UNIQUE INDEX "resubmissions_project_id_client_key_key" ON "resubmissions"("project_id", "client_key");

-- CreateIndex
CREATE INDEX "session_events_xid_id_idx" ON "session_events"("xid", "id");

-- CreateIndex
CREATE INDEX "audit_log_at_idx" ON "audit_log"("at");

-- CreateIndex
CREATE UNIQUE INDEX "resource_policies_scope_scope_name_key" ON "resource_policies"("scope", "scope_name");

-- AddForeignKey
ALTER TABLE "projects" ADD CONSTRAINT "projects_domain_id_fkey" FOREIGN KEY ("domain_id") REFERENCES "domains"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "project_members" ADD CONSTRAINT "project_members_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "project_members" ADD CONSTRAINT "project_members_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "api_tokens" ADD CONSTRAINT "api_tokens_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "api_tokens" ADD CONSTRAINT "api_tokens_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "agents" ADD CONSTRAINT "agents_resource_group_fkey" FOREIGN KEY ("resource_group") REFERENCES "resource_groups"("name") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "agent_slots" ADD CONSTRAINT "agent_slots_agent_id_fkey" FOREIGN KEY ("agent_id") REFERENCES "agents"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_resource_group_fkey" FOREIGN KEY ("resource_group") REFERENCES "resource_groups"("name") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_parent_session_id_fkey" FOREIGN KEY ("parent_session_id") REFERENCES "sessions"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "session_dependencies" ADD CONSTRAINT "session_dependencies_session_id_fkey" FOREIGN KEY ("session_id") REFERENCES "sessions"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "kernels" ADD CONSTRAINT "kernels_session_id_fkey" FOREIGN KEY ("session_id") REFERENCES "sessions"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "kernels" ADD CONSTRAINT "kernels_agent_id_fkey" FOREIGN KEY ("agent_id") REFERENCES "agents"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "retry_decisions" ADD CONSTRAINT "retry_decisions_session_id_fkey" FOREIGN KEY ("session_id") REFERENCES "sessions"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- What Prisma's schema language cannot say.

-- One child for one failed attempt. The many that have no parent, or no child, cost no entry.
CREATE UNIQUE INDEX "sessions_parent_session_id_key" ON "sessions" ("parent_session_id")
  WHERE "parent_session_id" IS NOT NULL;
CREATE UNIQUE INDEX "retry_decisions_child_session_id_key" ON "retry_decisions" ("child_session_id")
  WHERE "child_session_id" IS NOT NULL;

-- Work of the handlers: sessions that are not finished, by status and longest there first.
CREATE INDEX "sessions_active" ON "sessions" ("status", "status_changed_at")
  WHERE "status" NOT IN ('TERMINATED', 'ERROR', 'CANCELLED');

-- Work of schedule-sessions, in its order.
CREATE INDEX "sessions_pending" ON "sessions" ("resource_group", "priority" DESC, "created_at", "id")
  WHERE "status" = 'PENDING';

-- Work of enforce-batch-timeouts.
CREATE INDEX "sessions_timing_out" ON "sessions" ("times_out_at")
  WHERE "status" = 'RUNNING' AND "times_out_at" IS NOT NULL;

-- Work of decide-retries: finished batch sessions without a decision.
CREATE INDEX "sessions_undecided" ON "sessions" ("terminated_at")
  WHERE NOT "retry_decided" AND "status" IN ('TERMINATED', 'ERROR', 'CANCELLED');

-- Work of dispatch-retries: the queue, earliest first.
CREATE INDEX "retry_decisions_queue" ON "retry_decisions" ("ready_at")
  WHERE "phase" IN ('SCHEDULED', 'HELD');

-- What an agent should have, and whether a parent may still be alive.
CREATE INDEX "kernels_on_agent" ON "kernels" ("agent_id")
  WHERE "slots_held" OR NOT "confirmed_gone";


ALTER TABLE "agent_slots" ADD CONSTRAINT "agent_slots_never_oversold" CHECK ("used" >= 0 AND "used" <= "capacity");

ALTER TABLE "sessions"
  ADD CONSTRAINT "sessions_attempt" CHECK ("attempt" >= 1 AND "epoch" >= 0 AND "retry_count" >= 0 AND "uncounted_retries" >= 0),
  ADD CONSTRAINT "sessions_max_retries" CHECK ("max_retries" BETWEEN 0 AND 100),
  ADD CONSTRAINT "sessions_cluster_size" CHECK ("cluster_size" >= 1),
  ADD CONSTRAINT "sessions_priority" CHECK ("priority" BETWEEN 0 AND 100),
  ADD CONSTRAINT "sessions_parent" CHECK (("parent_session_id" IS NULL) = ("attempt" = 1)),
  ADD CONSTRAINT "sessions_origin" CHECK (("origin" = 'INITIAL') = ("attempt" = 1)),
  ADD CONSTRAINT "sessions_first_of_chain" CHECK (("chain_id" = "id") = ("attempt" = 1)),
  ADD CONSTRAINT "sessions_terminated" CHECK (("terminated_at" IS NOT NULL) = ("status" IN ('TERMINATED', 'ERROR', 'CANCELLED')));

ALTER TABLE "kernels"
  ADD CONSTRAINT "kernels_assigned" CHECK ("agent_id" IS NOT NULL OR ("confirmed_gone" AND NOT "slots_held"));

ALTER TABLE "retry_decisions"
  ADD CONSTRAINT "retry_decisions_due" CHECK ("phase" NOT IN ('SCHEDULED', 'HELD') OR ("due_at" IS NOT NULL AND "ready_at" IS NOT NULL)),
  ADD CONSTRAINT "retry_decisions_hold" CHECK (("hold_reason" IS NOT NULL) = ("phase" = 'HELD')),
  ADD CONSTRAINT "retry_decisions_child" CHECK (("phase" = 'DISPATCHED') = ("child_session_id" IS NOT NULL));

-- agent_slots.used is, by construction, the sum over the kernels that hold slots there: whatever statement gives a
-- kernel slots or takes them changes it in the same transaction. Rows are locked in key order.
CREATE FUNCTION book_agent_slots() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- No join of old with new rows: transition tables have no index, and a batch would be compared with itself.
  WITH holds AS (
    SELECT agent_id, resource_slots, sum(held) AS held FROM (
      SELECT agent_id, resource_slots, -1 AS held FROM old_kernels WHERE slots_held
      UNION ALL
      SELECT agent_id, resource_slots, 1 FROM new_kernels WHERE slots_held
    ) AS kernels
    GROUP BY agent_id, resource_slots HAVING sum(held) <> 0
  ), sums AS (
    SELECT agent_id, slot.key AS slot, sum(held * slot.value::numeric) AS amount
    FROM holds, jsonb_each_text(resource_slots) AS slot GROUP BY agent_id, slot.key
  ), slots AS (
    SELECT a.agent_id, a.slot, sums.amount FROM agent_slots a JOIN sums USING (agent_id, slot)
    ORDER BY a.agent_id, a.slot FOR NO KEY UPDATE OF a
  )
  UPDATE agent_slots a SET used = a.used + slots.amount,
    -- An agent that declares less than is in use shrinks to what it declares as that ends.
    capacity = CASE WHEN slots.amount < 0 THEN greatest(a.declared, a.used + slots.amount) ELSE a.capacity END
  FROM slots WHERE a.agent_id = slots.agent_id AND a.slot = slots.slot;
  RETURN NULL;
END $$;

CREATE TRIGGER kernels_book_agent_slots AFTER UPDATE ON "kernels"
  REFERENCING OLD TABLE AS old_kernels NEW TABLE AS new_kernels
  FOR EACH STATEMENT EXECUTE FUNCTION book_agent_slots();

-- Rows that change often leave room for their next version on the same page.
ALTER TABLE "sessions" SET (fillfactor = 70);
ALTER TABLE "kernels" SET (fillfactor = 70);

INSERT INTO "domains" ("id", "name") VALUES ('00000000-0000-7000-8000-000000000001', 'default');
INSERT INTO "projects" ("id", "domain_id", "name")
  VALUES ('00000000-0000-7000-8000-000000000002', '00000000-0000-7000-8000-000000000001', 'default');
INSERT INTO "resource_groups" ("name") VALUES ('default');
