-- AlterTable
ALTER TABLE "agents" ADD COLUMN "gpus" JSONB,
ADD COLUMN "gpu_fault" TEXT;
