-- GPUs that a person puts back into service, until the agent reports that they are.
ALTER TABLE "agents" ADD COLUMN "gpu_returns" TEXT[];
