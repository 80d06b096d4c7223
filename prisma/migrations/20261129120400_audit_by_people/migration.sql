-- The audit log without the entries of the server itself, which are most of it. The condition is not the usual
-- IS NOT NULL, so that the planner does not take this index for the entries of one token.
CREATE INDEX "audit_log_by_people" ON "audit_log" ("id") WHERE ("token_id" IS NULL) IS FALSE;
