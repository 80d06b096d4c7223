-- AlterTable
ALTER TABLE "deployments" ADD COLUMN "failed_at" TIMESTAMPTZ(3);
