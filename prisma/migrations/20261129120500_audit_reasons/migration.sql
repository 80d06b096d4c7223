-- AlterTable
ALTER TABLE "audit_log" ADD COLUMN "reason" TEXT;
