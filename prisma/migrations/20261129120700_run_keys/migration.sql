-- AlterTable
ALTER TABLE "schedule_runs" ADD COLUMN "client_key" TEXT;

-- CreateIndex
CREATE UNIQUE INDEX "schedule_runs_schedule_id_client_key_key" ON "schedule_runs"("schedule_id", "client_key");
