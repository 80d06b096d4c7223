-- AlterTable
ALTER TABLE "sessions" ADD COLUMN "agent_labels" JSONB NOT NULL DEFAULT '{}';

-- AlterTable
ALTER TABLE "resource_groups" ADD COLUMN "round_robin_at" UUID;

-- What Prisma's schema language cannot say.

-- Sessions of one lane have one owner, one shape and one priority: where one does not fit, none behind it does. Two
-- lanes of the same hash are claimed as one, which costs reach and nothing else. An empty array hides its seed, so it
-- is hashed first.
CREATE FUNCTION scheduling_lane(project_id uuid, user_id uuid, priority smallint, resource_slots jsonb,
  cluster_size int, single_node boolean, allow_agents uuid[], agent_labels jsonb)
RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN jsonb_hash_extended(resource_slots, jsonb_hash_extended(agent_labels, uuid_hash_extended(project_id,
  uuid_hash_extended(coalesce(user_id, project_id), hashint8extended(
    (priority::bigint * 4096 + cluster_size) * 2 + single_node::int, hash_array_extended(allow_agents, 0))))));

-- Work of schedule-sessions, in its order: the line of a group from its head, and each lane from its head. What rests
-- (until its start time, or for a dependency) is in neither.
DROP INDEX "sessions_pending";
CREATE INDEX "sessions_pending" ON "sessions" ("resource_group", "priority" DESC, "created_at", "id")
  WHERE "status" = 'PENDING' AND "next_try_at" IS NULL;
CREATE INDEX "sessions_lanes" ON "sessions" ("resource_group",
    (scheduling_lane("project_id", "user_id", "priority", "resource_slots", "cluster_size",
      "cluster_mode" = 'SINGLE_NODE', "allow_agents", "agent_labels")),
    "created_at", "id")
  WHERE "status" = 'PENDING' AND "next_try_at" IS NULL;

-- What rests, by when that is over.
CREATE INDEX "sessions_resting" ON "sessions" ("next_try_at")
  WHERE "status" = 'PENDING' AND "next_try_at" IS NOT NULL;

-- Those that hold the line. The number is HEAD_OF_LINE_SKIPS_MAX.
CREATE INDEX "sessions_holding_line" ON "sessions" ("resource_group", "priority" DESC, "created_at", "id")
  WHERE "status" = 'PENDING' AND "next_try_at" IS NULL AND "skips" >= 50;
