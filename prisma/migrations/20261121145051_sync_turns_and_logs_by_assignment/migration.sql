-- The newest report of an agent's present instance that was booked, so that a late one is told on any server.
ALTER TABLE "agents" ADD COLUMN "last_sequence" BIGINT NOT NULL DEFAULT 0;

-- A kernel that is given out again writes its streams anew, from their beginning.
ALTER TABLE "kernel_logs" ADD COLUMN "assignment" INTEGER NOT NULL DEFAULT 0;
UPDATE "kernel_logs" l SET "assignment" = k."assignment" FROM "kernels" k
  WHERE k."id" = l."kernel_id" AND (k."slots_held" OR NOT k."confirmed_gone");
DROP INDEX "kernel_logs_kernel_id_stream_offset_key";
CREATE UNIQUE INDEX "kernel_logs_kernel_id_assignment_stream_offset_key" ON "kernel_logs"("kernel_id", "assignment", "stream", "offset");
