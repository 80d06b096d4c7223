-- AlterTable
ALTER TABLE "scheduling_history" ADD COLUMN "agent_ids" UUID[];
