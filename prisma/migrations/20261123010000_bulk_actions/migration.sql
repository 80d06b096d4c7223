-- CreateEnum
CREATE TYPE "session_action" AS ENUM ('RETRY_NOW', 'CANCEL_RETRY', 'TERMINATE', 'RESUBMIT');

-- AlterTable
ALTER TABLE "resubmissions" ADD COLUMN "action" "session_action" NOT NULL DEFAULT 'RESUBMIT';

-- What Prisma's schema language cannot say.

-- Only a resubmission makes children.
ALTER TABLE "resubmission_items"
  DROP CONSTRAINT "resubmission_items_done",
  ADD CONSTRAINT "resubmission_items_done" CHECK ("child_session_id" IS NULL OR "status" = 'DONE');

CREATE OR REPLACE FUNCTION keep_resubmission() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    IF EXISTS (SELECT FROM resubmission_items WHERE resubmission_id = OLD.id) THEN
      RAISE EXCEPTION 'resubmissions are kept while their sessions are there: %', OLD.id;
    END IF;
    RETURN OLD;
  END IF;
  IF (NEW.id, NEW.project_id, NEW.client_key, NEW.request_hash, NEW.actor, NEW.action, NEW.filter, NEW.overrides, NEW.total, NEW.created_at)
    IS DISTINCT FROM
    (OLD.id, OLD.project_id, OLD.client_key, OLD.request_hash, OLD.actor, OLD.action, OLD.filter, OLD.overrides, OLD.total, OLD.created_at)
    OR OLD.state <> 'RUNNING' OR NEW.done < OLD.done OR NEW.refused < OLD.refused THEN
    RAISE EXCEPTION 'resubmissions are append only: %', OLD.id;
  END IF;
  RETURN NEW;
END $$;
