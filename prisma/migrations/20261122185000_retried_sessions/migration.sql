-- Filters by retries used and by budget. Sessions without any are the many that no such filter looks for.
CREATE INDEX "sessions_retried" ON "sessions" ("retry_count", "created_at" DESC, "id" DESC) WHERE "retry_count" > 0;
CREATE INDEX "sessions_with_retries" ON "sessions" ("max_retries", "created_at" DESC, "id" DESC) WHERE "max_retries" > 0;
