-- Who it was: names are not unique, and anybody who makes tokens chooses them.
ALTER TABLE "audit_log" ADD COLUMN "token_id" UUID, ADD COLUMN "user_id" UUID, ADD COLUMN "request_id" TEXT,
  ADD COLUMN "address" TEXT;

-- Pages of the log, newest first: of a project, of a token, of a session, and of what was refused.
CREATE INDEX "audit_log_project" ON "audit_log" ("project_id", "id") WHERE "project_id" IS NOT NULL;
CREATE INDEX "audit_log_token" ON "audit_log" ("token_id", "id") WHERE "token_id" IS NOT NULL;
CREATE INDEX "audit_log_session" ON "audit_log" ("session_id", "id") WHERE "session_id" IS NOT NULL;
CREATE INDEX "audit_log_refused" ON "audit_log" ("id") WHERE "action" = 'refused';
