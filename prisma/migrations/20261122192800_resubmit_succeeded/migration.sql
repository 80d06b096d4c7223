-- AlterTable
ALTER TABLE "resubmissions" ADD COLUMN "include_succeeded" BOOLEAN NOT NULL DEFAULT false;
