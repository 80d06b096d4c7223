-- The volumes that a session needs belong to its shape, and so to its lane, and so does whether its ports must be
-- reached: what waits for an agent that has them does not hold up what needs none.
DROP INDEX "sessions_lanes";
DROP FUNCTION scheduling_lane(uuid, uuid, smallint, jsonb, int, boolean, uuid[], uuid[], jsonb);
CREATE FUNCTION scheduling_lane(project_id uuid, user_id uuid, priority smallint, resource_slots jsonb,
  cluster_size int, single_node boolean, needs_ports boolean, allow_agents uuid[], exclude_agents uuid[],
  agent_labels jsonb, mounts jsonb)
RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN jsonb_hash_extended(resource_slots, jsonb_hash_extended(agent_labels, jsonb_hash_extended(mounts,
  uuid_hash_extended(project_id, uuid_hash_extended(coalesce(user_id, project_id), hashint8extended(
    ((priority::bigint * 4096 + cluster_size) * 2 + single_node::int) * 2 + needs_ports::int,
    hashint8extended(hash_array_extended(allow_agents, 0), hash_array_extended(exclude_agents, 0))))))));

CREATE INDEX "sessions_lanes" ON "sessions" ("resource_group",
    (scheduling_lane("project_id", "user_id", "priority", "resource_slots", "cluster_size",
      "cluster_mode" = 'SINGLE_NODE', "session_type" <> 'BATCH', "allow_agents", "exclude_agents", "agent_labels",
      "mounts")),
    "created_at", "id")
  WHERE "status" = 'PENDING' AND "next_try_at" IS NULL;
