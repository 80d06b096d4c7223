-- AlterTable
ALTER TABLE "agents" ADD COLUMN "warnings" JSONB;
