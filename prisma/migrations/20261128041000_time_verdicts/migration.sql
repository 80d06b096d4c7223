-- Whether the program ended within its session's batch timeout, by its agent's monotonic clock; null if its agent does
-- not know, or is of a version that does not tell.
ALTER TABLE "kernels" ADD COLUMN "in_time" BOOLEAN;

-- Whether the agent tells that.
ALTER TABLE "agents" ADD COLUMN "judges_time" BOOLEAN NOT NULL DEFAULT false;
