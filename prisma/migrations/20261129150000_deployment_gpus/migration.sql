-- The GPUs that the routes of a deployment need: their model and their memory. Their number is a slot, as before.
ALTER TABLE "deployment_revisions" ADD COLUMN "gpu_need" JSONB;
