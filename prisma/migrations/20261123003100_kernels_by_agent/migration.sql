-- What is and was on an agent.
CREATE INDEX "kernels_by_agent" ON "kernels" ("agent_id", "session_id") WHERE "agent_id" IS NOT NULL;
