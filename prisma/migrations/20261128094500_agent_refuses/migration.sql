-- Why an agent takes no new kernels at present: its disk is full, or it cannot isolate them as before.
ALTER TABLE "agents" ADD COLUMN "refuses" TEXT;
