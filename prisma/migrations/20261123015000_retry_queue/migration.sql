-- The queue of retries as people read it.
CREATE INDEX "retry_decisions_due" ON "retry_decisions" ("due_at", "session_id") WHERE "phase" IN ('SCHEDULED', 'HELD');
