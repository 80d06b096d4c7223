-- AlterTable
ALTER TABLE "projects" ADD COLUMN "members_end_all" BOOLEAN NOT NULL DEFAULT false;

-- AlterTable
ALTER TABLE "users" ADD COLUMN "deleted_at" TIMESTAMPTZ(3);
