-- How far a kernel is until it runs, and where it runs, as its agent last said. Agents of older versions say nothing.
ALTER TABLE "kernels"
  ADD COLUMN "note" TEXT,
  ADD COLUMN "waits" BOOLEAN NOT NULL DEFAULT false,
  ADD COLUMN "waited_until" TIMESTAMPTZ(3),
  ADD COLUMN "host" TEXT,
  ADD COLUMN "slurm_job_id" TEXT;
