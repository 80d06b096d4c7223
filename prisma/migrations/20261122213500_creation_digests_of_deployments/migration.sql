-- AlterTable
ALTER TABLE "deployments" ADD COLUMN "creation_digest" TEXT;
