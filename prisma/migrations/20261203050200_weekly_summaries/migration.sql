-- An event is of a session, of a deployment, or of a group; or else of its project.
ALTER TABLE "session_events" DROP CONSTRAINT "session_events_subject";
ALTER TABLE "session_events" ADD CONSTRAINT "session_events_subject" CHECK (
  CASE WHEN "session_id" IS NOT NULL THEN "chain_id" IS NOT NULL AND "deployment_id" IS NULL AND "route_id" IS NULL AND "group_id" IS NULL
  ELSE "chain_id" IS NULL AND ("deployment_id" IS NULL OR "group_id" IS NULL) AND ("deployment_id" IS NOT NULL OR "route_id" IS NULL) END) NOT VALID;
ALTER TABLE "session_events" VALIDATE CONSTRAINT "session_events_subject";

-- Weeks for which the event with the summary of a project has been written, in the same transaction.
CREATE TABLE "weekly_summaries" (
  "project_id" UUID NOT NULL,
  -- Its Monday, 00:00 UTC.
  "week" TIMESTAMPTZ(3) NOT NULL,
  CONSTRAINT "weekly_summaries_pkey" PRIMARY KEY ("project_id", "week"),
  CONSTRAINT "weekly_summaries_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
