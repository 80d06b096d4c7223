-- CreateEnum
CREATE TYPE "resubmission_state" AS ENUM ('RUNNING', 'COMPLETED', 'ABORTED');

-- CreateEnum
CREATE TYPE "resubmission_item_status" AS ENUM ('PENDING', 'DONE', 'REFUSED');

-- DropTable
DROP TABLE "resubmissions";

-- CreateTable
CREATE TABLE "resubmissions" (
    "id" UUID NOT NULL,
    "project_id" UUID,
    "client_key" TEXT NOT NULL,
    "request_hash" TEXT NOT NULL,
    "actor" TEXT NOT NULL,
    "filter" JSONB,
    "overrides" JSONB NOT NULL,
    "total" INTEGER NOT NULL,
    "done" INTEGER NOT NULL DEFAULT 0,
    "refused" INTEGER NOT NULL DEFAULT 0,
    "state" "resubmission_state" NOT NULL DEFAULT 'RUNNING',
    "aborted_by" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "progressed_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "resubmissions_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "resubmission_items" (
    "resubmission_id" UUID NOT NULL,
    "position" INTEGER NOT NULL,
    "session_id" UUID NOT NULL,
    "status" "resubmission_item_status" NOT NULL DEFAULT 'PENDING',
    "child_session_id" UUID,
    "code" TEXT,
    "message" TEXT,

    CONSTRAINT "resubmission_items_pkey" PRIMARY KEY ("resubmission_id","position")
);

-- CreateIndex
CREATE INDEX "resubmissions_created_at_id_idx" ON "resubmissions"("created_at", "id");

-- What Prisma's schema language cannot say.

-- A key is known once among those who see all projects, too.
CREATE UNIQUE INDEX "resubmissions_project_id_client_key_key" ON "resubmissions" ("project_id", "client_key") NULLS NOT DISTINCT;
-- Which resubmission a session comes from. The many that are refused, or wait, cost no entry.
CREATE UNIQUE INDEX "resubmission_items_child_session_id_key" ON "resubmission_items" ("child_session_id")
  WHERE "child_session_id" IS NOT NULL;
-- Work of resubmit-sessions: who has waited longest, and what is left of it.
CREATE INDEX "resubmissions_running" ON "resubmissions" ("progressed_at") WHERE "state" = 'RUNNING';
CREATE INDEX "resubmission_items_pending" ON "resubmission_items" ("resubmission_id", "position") WHERE "status" = 'PENDING';
-- Those that a person looks for among the many that went through.
CREATE INDEX "resubmission_items_refused" ON "resubmission_items" ("resubmission_id", "position") WHERE "status" = 'REFUSED';

ALTER TABLE "resubmissions"
  ADD CONSTRAINT "resubmissions_counts" CHECK ("done" >= 0 AND "refused" >= 0 AND "done" + "refused" <= "total"),
  ADD CONSTRAINT "resubmissions_completed" CHECK ("state" <> 'COMPLETED' OR "done" + "refused" = "total"),
  ADD CONSTRAINT "resubmissions_finished" CHECK (("finished_at" IS NOT NULL) = ("state" <> 'RUNNING')),
  ADD CONSTRAINT "resubmissions_aborted" CHECK (("aborted_by" IS NOT NULL) = ("state" = 'ABORTED'));
ALTER TABLE "resubmission_items"
  ADD CONSTRAINT "resubmission_items_done" CHECK (("status" = 'DONE') = ("child_session_id" IS NOT NULL)),
  ADD CONSTRAINT "resubmission_items_refused" CHECK (("status" = 'REFUSED') = ("code" IS NOT NULL) AND ("code" IS NULL) = ("message" IS NULL));

-- What was asked stays as it was asked, and what became of it is final. Records go with the last of the chains that
-- they tell of, and not before: whoever removes a chain removes its items, then what has none left.
CREATE FUNCTION keep_resubmission() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    IF EXISTS (SELECT FROM resubmission_items WHERE resubmission_id = OLD.id) THEN
      RAISE EXCEPTION 'resubmissions are kept while their sessions are there: %', OLD.id;
    END IF;
    RETURN OLD;
  END IF;
  IF (NEW.id, NEW.project_id, NEW.client_key, NEW.request_hash, NEW.actor, NEW.filter, NEW.overrides, NEW.total, NEW.created_at)
    IS DISTINCT FROM
    (OLD.id, OLD.project_id, OLD.client_key, OLD.request_hash, OLD.actor, OLD.filter, OLD.overrides, OLD.total, OLD.created_at)
    OR OLD.state <> 'RUNNING' OR NEW.done < OLD.done OR NEW.refused < OLD.refused THEN
    RAISE EXCEPTION 'resubmissions are append only: %', OLD.id;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER resubmissions_append_only BEFORE UPDATE OR DELETE ON "resubmissions"
  FOR EACH ROW EXECUTE FUNCTION keep_resubmission();

CREATE FUNCTION keep_resubmission_item() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    -- One that was not found names nobody's chain, or one that it has no say in.
    IF OLD.code IS DISTINCT FROM 'SESSION_NOT_FOUND' AND EXISTS (SELECT FROM sessions WHERE id = OLD.session_id) THEN
      RAISE EXCEPTION 'resubmissions are kept while their sessions are there: %', OLD.session_id;
    END IF;
    RETURN OLD;
  END IF;
  IF (NEW.resubmission_id, NEW.position, NEW.session_id) IS DISTINCT FROM (OLD.resubmission_id, OLD.position, OLD.session_id)
    OR OLD.status <> 'PENDING' THEN
    RAISE EXCEPTION 'resubmissions are append only: % of %', OLD.position, OLD.resubmission_id;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER resubmission_items_append_only BEFORE UPDATE OR DELETE ON "resubmission_items"
  FOR EACH ROW EXECUTE FUNCTION keep_resubmission_item();
