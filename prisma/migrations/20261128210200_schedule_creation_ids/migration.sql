-- AlterTable
ALTER TABLE "schedules" ADD COLUMN "creation_digest" TEXT, ADD COLUMN "creation_id" TEXT;

-- CreateIndex
CREATE UNIQUE INDEX "schedules_project_id_creation_id_key" ON "schedules"("project_id", "creation_id");

-- What Prisma's schema language cannot say.

ALTER TABLE "schedules"
  ADD CONSTRAINT "schedules_creation_digest" CHECK (("creation_id" IS NULL) = ("creation_digest" IS NULL));
