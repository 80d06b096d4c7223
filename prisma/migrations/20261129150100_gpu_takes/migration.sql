-- GPUs that a person takes out of service, with the reason, until the agent reports that they are.
ALTER TABLE "agents" ADD COLUMN "gpu_takes" JSONB;
