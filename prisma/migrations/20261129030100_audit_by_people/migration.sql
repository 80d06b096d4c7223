-- The audit log without the entries of the server itself, which are most of it.
CREATE INDEX "audit_log_by_people" ON "audit_log" ("id") WHERE "token_id" IS NOT NULL;
