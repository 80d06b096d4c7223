-- AlterTable
ALTER TABLE "deployments" ADD COLUMN "labels" JSONB NOT NULL DEFAULT '{}';

-- The labels of the present revision.
UPDATE "deployments" d SET "labels" = v."labels"
FROM "deployment_revisions" v WHERE v."deployment_id" = d."id" AND v."revision" = d."revision" AND v."labels" <> '{}';

-- What Prisma's schema language cannot say.

-- Later attempts, and those of later epochs. First attempts, which are most sessions, cost these indexes nothing.
CREATE INDEX "sessions_later_attempts" ON "sessions" ("attempt", "created_at" DESC, "id" DESC) WHERE "attempt" > 1;
CREATE INDEX "sessions_later_epochs" ON "sessions" ("epoch", "created_at" DESC, "id" DESC) WHERE "epoch" > 0;
