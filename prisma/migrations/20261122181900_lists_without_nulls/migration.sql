-- A start that expired wrote a NULL among the agents to avoid, and retries inherited it. No reader of a list expects one.
UPDATE "sessions" SET "avoid_agents" = array_remove("avoid_agents", NULL)
  WHERE array_position("avoid_agents", NULL) IS NOT NULL;

ALTER TABLE "sessions"
  ADD CONSTRAINT "sessions_lists" CHECK (array_position("command", NULL) IS NULL
    AND array_position("avoid_agents", NULL) IS NULL AND array_position("allow_agents", NULL) IS NULL
    AND array_position("avoid_groups", NULL) IS NULL);
ALTER TABLE "deployment_revisions"
  ADD CONSTRAINT "deployment_revisions_lists" CHECK (array_position("command", NULL) IS NULL);
ALTER TABLE "resource_groups"
  ADD CONSTRAINT "resource_groups_lists" CHECK (array_position("allowed_session_types", NULL) IS NULL);
ALTER TABLE "servers" ADD CONSTRAINT "servers_lists" CHECK (array_position("roles", NULL) IS NULL);
ALTER TABLE "webhooks" ADD CONSTRAINT "webhooks_lists" CHECK (array_position("event_types", NULL) IS NULL);
