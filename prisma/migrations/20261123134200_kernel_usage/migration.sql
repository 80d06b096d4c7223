-- What each kernel used, by the word of its agent; null for those that ended before, and for what never ran.
CREATE TYPE "usage_source" AS ENUM ('CGROUP', 'PROCESSES');

ALTER TABLE "kernels"
  ADD COLUMN "peak_memory_bytes" BIGINT,
  ADD COLUMN "cpu_seconds" DOUBLE PRECISION,
  ADD COLUMN "wall_seconds" DOUBLE PRECISION,
  ADD COLUMN "usage_source" "usage_source",
  -- NaN and infinity are greater than every number, and would spoil each sum.
  ADD CONSTRAINT "kernels_usage" CHECK ("peak_memory_bytes" >= 0
    AND "cpu_seconds" >= 0 AND "cpu_seconds" < 'Infinity'
    AND "wall_seconds" >= 0 AND "wall_seconds" < 'Infinity');
