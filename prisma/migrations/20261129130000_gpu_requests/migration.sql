-- The GPUs that a session needs: their model and their memory. Their number is a slot, as before.
ALTER TABLE "sessions" ADD COLUMN "gpu_need" JSONB;

-- The GPUs of each kernel and what it has used of them, as its agent reports them.
ALTER TABLE "kernels" ADD COLUMN "gpus" JSONB,
ADD COLUMN "gpu_usage" JSONB;

-- How many kernels may share a GPU of the agent; null if each has its own.
ALTER TABLE "agents" ADD COLUMN "gpu_sharing" INTEGER;

-- The GPUs that a session needs belong to its shape, and so to its lane: what waits for a large GPU does not hold up
-- what fits on a small one.
DROP INDEX "sessions_lanes";
DROP INDEX "sessions_demands";
DROP FUNCTION scheduling_lane(uuid, uuid, smallint, jsonb, int, boolean, boolean, uuid[], uuid[], jsonb, jsonb);
CREATE FUNCTION scheduling_lane(project_id uuid, user_id uuid, priority smallint, resource_slots jsonb,
  cluster_size int, single_node boolean, needs_ports boolean, allow_agents uuid[], exclude_agents uuid[],
  agent_labels jsonb, mounts jsonb, gpu_need jsonb)
RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN jsonb_hash_extended(resource_slots, jsonb_hash_extended(agent_labels, jsonb_hash_extended(mounts,
  jsonb_hash_extended(coalesce(gpu_need, 'null'),
    uuid_hash_extended(project_id, uuid_hash_extended(coalesce(user_id, project_id), hashint8extended(
      ((priority::bigint * 4096 + cluster_size) * 2 + single_node::int) * 2 + needs_ports::int,
      hashint8extended(hash_array_extended(allow_agents, 0), hash_array_extended(exclude_agents, 0)))))))));

CREATE INDEX "sessions_lanes" ON "sessions" ("resource_group",
    (scheduling_lane("project_id", "user_id", "priority", "resource_slots", "cluster_size",
      "cluster_mode" = 'SINGLE_NODE', "session_type" <> 'BATCH', "allow_agents", "exclude_agents", "agent_labels",
      "mounts", "gpu_need")),
    "created_at", "id")
  WHERE "status" = 'PENDING' AND "next_try_at" IS NULL;

CREATE INDEX "sessions_demands" ON "sessions" ("project_id", "resource_group",
    (scheduling_lane("project_id", "user_id", "priority", "resource_slots", "cluster_size",
      "cluster_mode" = 'SINGLE_NODE', "session_type" <> 'BATCH', "allow_agents", "exclude_agents", "agent_labels",
      "mounts", "gpu_need")))
  WHERE "status" = 'PENDING';
