-- AlterTable
ALTER TABLE "sessions" ADD COLUMN "creation_digest" TEXT;
