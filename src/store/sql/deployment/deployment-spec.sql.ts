import type { Mount } from '../../../domain/session/mount/mounts.ts'
import type { SealedVariable } from '../../../domain/session/sealed-variable.ts'

/** The spec shared by all routes of a revision; times in milliseconds. */
export interface DeploymentSpec {
  resourceGroup: string
  image: string | null
  command: string[]
  environ: { name: string; value: string }[]
  secretEnviron: SealedVariable[]
  resourceSlots: Record<string, string>
  priority: number
  labels: Record<string, string>
  /** { key: value }: an agent must have all of these labels. */
  agentLabels: Record<string, string>
  /** Volumes that an agent must have for its project. */
  mounts: Mount[]
  portVariable: string
  healthPath: string
  healthIntervalMs: number
  healthTimeoutMs: number
  healthyThreshold: number
  unhealthyThreshold: number
  initialDelayMs: number
  staleAfterMs: number
  startTimeoutMs: number
  evictAfterMs: number
  drainMs: number
}

export const SPEC_COLUMNS = `resource_group, image, command, environ, secret_environ, resource_slots, priority, labels, agent_labels,
  mounts, port_variable, health_path, health_interval_ms, health_timeout_ms, healthy_threshold, unhealthy_threshold,
  initial_delay_ms, stale_after_ms, start_timeout_ms, evict_after_ms, drain_ms`

/** The fields of a spec, selected from `deployment_revisions v`. */
export const SPEC_FIELDS = `v.resource_group AS "resourceGroup", v.image, to_json(v.command) AS command, v.environ,
  v.secret_environ AS "secretEnviron",
  v.resource_slots AS "resourceSlots", v.priority, v.labels, v.agent_labels AS "agentLabels", v.mounts,
  v.port_variable AS "portVariable", v.health_path AS "healthPath", v.health_interval_ms AS "healthIntervalMs",
  v.health_timeout_ms AS "healthTimeoutMs", v.healthy_threshold AS "healthyThreshold",
  v.unhealthy_threshold AS "unhealthyThreshold", v.initial_delay_ms AS "initialDelayMs",
  v.stale_after_ms AS "staleAfterMs", v.start_timeout_ms AS "startTimeoutMs", v.evict_after_ms AS "evictAfterMs",
  v.drain_ms AS "drainMs"`

/** Converts a spec from JSON to its columns, in their order. */
export function specSelect(parameter: string): string {
  return `SELECT i."resourceGroup" AS resource_group, i."image", i."command", i."environ",
    i."secretEnviron" AS secret_environ,
    i."resourceSlots" AS resource_slots, i."priority", i."labels", i."agentLabels" AS agent_labels, i."mounts",
    i."portVariable" AS port_variable, i."healthPath" AS health_path, i."healthIntervalMs" AS health_interval_ms,
    i."healthTimeoutMs" AS health_timeout_ms, i."healthyThreshold" AS healthy_threshold,
    i."unhealthyThreshold" AS unhealthy_threshold, i."initialDelayMs" AS initial_delay_ms,
    i."staleAfterMs" AS stale_after_ms, i."startTimeoutMs" AS start_timeout_ms, i."evictAfterMs" AS evict_after_ms,
    i."drainMs" AS drain_ms
  FROM json_to_record(${parameter}::json) AS i(
    "resourceGroup" text, "image" text, "command" text[], "environ" jsonb, "secretEnviron" jsonb, "resourceSlots" jsonb, "priority" smallint,
    "labels" jsonb, "agentLabels" jsonb, "mounts" jsonb, "portVariable" text, "healthPath" text, "healthIntervalMs" int,
    "healthTimeoutMs" int, "healthyThreshold" int, "unhealthyThreshold" int, "initialDelayMs" int,
    "staleAfterMs" int, "startTimeoutMs" int, "evictAfterMs" int, "drainMs" int)`
}
