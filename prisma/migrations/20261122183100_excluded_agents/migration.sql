-- AlterTable
ALTER TABLE "sessions" ADD COLUMN "exclude_agents" UUID[] DEFAULT ARRAY[]::UUID[];

-- What Prisma's schema language cannot say.

ALTER TABLE "sessions" DROP CONSTRAINT "sessions_lists";
ALTER TABLE "sessions"
  ADD CONSTRAINT "sessions_lists" CHECK (array_position("command", NULL) IS NULL
    AND array_position("avoid_agents", NULL) IS NULL AND array_position("allow_agents", NULL) IS NULL
    AND array_position("exclude_agents", NULL) IS NULL AND array_position("avoid_groups", NULL) IS NULL);

-- The agents that are excluded belong to a session's shape, and so to its lane.
DROP INDEX "sessions_lanes";
DROP FUNCTION scheduling_lane(uuid, uuid, smallint, jsonb, int, boolean, uuid[], jsonb);
CREATE FUNCTION scheduling_lane(project_id uuid, user_id uuid, priority smallint, resource_slots jsonb,
  cluster_size int, single_node boolean, allow_agents uuid[], exclude_agents uuid[], agent_labels jsonb)
RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN jsonb_hash_extended(resource_slots, jsonb_hash_extended(agent_labels, uuid_hash_extended(project_id,
  uuid_hash_extended(coalesce(user_id, project_id), hashint8extended(
    (priority::bigint * 4096 + cluster_size) * 2 + single_node::int,
    hashint8extended(hash_array_extended(allow_agents, 0), hash_array_extended(exclude_agents, 0)))))));

CREATE INDEX "sessions_lanes" ON "sessions" ("resource_group",
    (scheduling_lane("project_id", "user_id", "priority", "resource_slots", "cluster_size",
      "cluster_mode" = 'SINGLE_NODE', "allow_agents", "exclude_agents", "agent_labels")),
    "created_at", "id")
  WHERE "status" = 'PENDING' AND "next_try_at" IS NULL;
