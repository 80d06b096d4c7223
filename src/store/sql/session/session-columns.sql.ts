import type { GpuNeed } from '../../../domain/gpu.ts'
import type { ExecutorOptions, SealedVariable } from '../../../domain/session/kernel-environment.ts'
import type { FailureCause } from '../../../domain/session/failure.ts'
import type { VolumeNeed } from '../../../domain/scheduling/resource-request.ts'
import type { Mount } from '../../../domain/session/mounts.ts'
import type { InputRequest, OutputsRequest } from '../../../domain/session/outputs.ts'
import type { ClusterMode, SessionOrigin, SessionType } from '../../../domain/session/lifecycle.ts'

/**
 * The columns of a new session: field, column, type, and the default of a first attempt. `own` columns belong to each
 * attempt. `spec` and `inherited` columns are copied from the parent unless the child is given another value; the chain
 * shows where two attempts differ in their `spec`. The type of new sessions, the statement that inserts them, the
 * fields that a child inherits, and the differences that are read are all derived from here.
 */

/** The name of a PostgreSQL type, with its TypeScript type. */
type SqlType<Value> = string & { readonly is?: Value }
const sql = <Value>(type: string): SqlType<Value> => type

const columns =
  <const Kind extends 'own' | 'spec' | 'inherited'>(kind: Kind) =>
  <Value, First extends [] | [Value]>(column: string, type: SqlType<Value>, ...first: First) => ({
    kind,
    column,
    type,
    first,
  })
const own = columns('own')
const spec = columns('spec')
const inherited = columns('inherited')

export const SESSION_COLUMNS = {
  id: own('id', sql<string>('uuid')),
  projectId: inherited('project_id', sql<string>('uuid')),
  userId: inherited('user_id', sql<string | null>('uuid')),
  resourceGroup: spec('resource_group', sql<string>('text')),
  creationId: own('creation_id', sql<string>('text')),
  /** Digest of the client's input if the client chose the creation id. */
  creationDigest: own('creation_digest', sql<string | null>('text'), null),
  name: inherited('name', sql<string>('text')),
  sessionType: own('session_type', sql<SessionType>('session_type')),
  image: spec('image', sql<string | null>('text'), null),
  /** `sha256:…`: the digest that the image must have, even if its tag has been moved to another image. */
  requiredImageDigest: own('required_image_digest', sql<string | null>('text'), null),
  command: spec('command', sql<string[]>('text[]')),
  /** Digest of the archive that is unpacked into the working directory. */
  codeSha256: spec('code_sha256', sql<string | null>('text'), null),
  environ: spec('environ', sql<{ name: string; value: string }[]>('jsonb'), []),
  secretEnviron: spec('secret_environ', sql<SealedVariable[]>('jsonb'), []),
  resourceSlots: spec('resource_slots', sql<Record<string, string>>('jsonb')),
  /** What its GPUs must be like; null if any will do. */
  gpuNeed: spec('gpu_need', sql<GpuNeed | null>('jsonb'), null),
  clusterMode: spec('cluster_mode', sql<ClusterMode>('cluster_mode'), 'SINGLE_NODE'),
  clusterSize: spec('cluster_size', sql<number>('int')),
  batchTimeout: spec('batch_timeout', sql<number | null>('float8'), null),
  /** Seconds for which all of its GPUs may be idle; null for no limit. */
  gpuIdleTimeout: inherited('gpu_idle_timeout', sql<number | null>('float8'), null),
  /** The command that runs in a kernel without progress before it is stopped; empty for none. */
  onHang: inherited('on_hang', sql<string[]>('text[]'), []),
  /** Once its start was ordered, nothing starts it again. */
  neverRunTwice: inherited('never_run_twice', sql<boolean>('bool'), false),
  /** In seconds; null for that of the resource group. */
  stopGrace: spec('stop_grace', sql<number | null>('float8'), null),
  /** Seconds. */
  maxPending: inherited('max_pending', sql<number | null>('float8'), null),
  /** ISO 8601. */
  startsAt: own('starts_at', sql<string | null>('timestamptz'), null),
  priority: spec('priority', sql<number>('smallint')),
  labels: spec('labels', sql<Record<string, string>>('jsonb'), {}),
  parentSessionId: own('parent_session_id', sql<string | null>('uuid'), null),
  chainId: inherited('chain_id', sql<string>('uuid')),
  attempt: own('attempt', sql<number>('int'), 1),
  epoch: own('epoch', sql<number>('int'), 0),
  origin: own('origin', sql<SessionOrigin>('session_origin'), 'INITIAL'),
  retryCount: own('retry_count', sql<number>('int'), 0),
  uncountedRetries: own('uncounted_retries', sql<number>('int'), 0),
  retryPolicy: spec(
    'retry_policy',
    sql<{ maxRetries: number; emitRetryEvents?: boolean; pinImage?: boolean }>('jsonb'),
  ),
  retryPolicySources: inherited('retry_policy_sources', sql<Record<string, string>>('jsonb')),
  retryCause: own('retry_cause', sql<FailureCause | null>('failure_cause'), null),
  /** ISO 8601; null means now. */
  epochStartedAt: own('epoch_started_at', sql<string | null>('timestamptz'), null),
  avoidAgents: spec('avoid_agents', sql<string[]>('uuid[]'), []),
  allowAgents: spec('allow_agents', sql<string[]>('uuid[]'), []),
  /** Agents that must not run the session. */
  excludeAgents: spec('exclude_agents', sql<string[]>('uuid[]'), []),
  avoidGroups: spec('avoid_groups', sql<string[]>('text[]'), []),
  /** { key: value }: an agent must have all of these labels. */
  agentLabels: inherited('agent_labels', sql<Record<string, string>>('jsonb'), {}),
  /** { key: value }, for options that the resource group allows. */
  executorOptions: inherited('executor_options', sql<ExecutorOptions>('jsonb'), {}),
  /** Volumes that are mounted in its kernels. */
  mounts: inherited('mounts', sql<Mount[]>('jsonb'), []),
  /** Files to collect at its end; null if it asks for none. */
  outputs: inherited('outputs', sql<OutputsRequest | null>('jsonb'), null),
  /** Outputs of other chains that it finds in its working directory. */
  inputs: inherited('inputs', sql<InputRequest[]>('jsonb'), []),
  /** The group that the chain is a member of, and its number there; null for none. */
  groupId: inherited('group_id', sql<string | null>('uuid'), null),
  groupIndex: inherited('group_index', sql<number | null>('int'), null),
  /** Null for no key, and then there is no limit. */
  concurrencyKey: inherited('concurrency_key', sql<string | null>('text'), null),
  concurrencyLimit: inherited('concurrency_limit', sql<number | null>('int'), null),
  /** The trace context of the request that began the chain, `00-<trace>-<span>-<flags>`; null if it has none. */
  traceParent: inherited('trace_parent', sql<string | null>('text'), null),
  /**
   * The environment variable through which the agent gives the program its port; null if the program serves on no port.
   */
  portVariable: own('port_variable', sql<string | null>('text'), null),
}

type Columns = typeof SESSION_COLUMNS
export type SessionField = keyof Columns
type Values<Field extends SessionField> = {
  [Name in Field]: Columns[Name]['type'] extends SqlType<infer Value> ? Value : never
}
type FieldOf<Kind extends string> = {
  [Name in SessionField]: Columns[Name]['kind'] extends Kind ? Name : never
}[SessionField]
type FieldWithFirst = { [Name in SessionField]: Columns[Name]['first'] extends [] ? never : Name }[SessionField]

/** The fields that no attempt inherits. */
export type OwnField = FieldOf<'own'>

/** A session to be created, initial or child; `kernelIds` has one id per kernel, the main kernel's first. */
export type NewSession = Values<Exclude<SessionField, 'clusterSize'>> & {
  kernelIds: string[]
  /** Chains that must succeed first. */
  dependsOnChains: string[]
}

/** The fields that an automatic retry is given. It has its parent's values in all others. */
export const RETRY_FIELDS = [
  'resourceGroup',
  'resourceSlots',
  'batchTimeout',
  'gpuNeed',
  'avoidAgents',
  'excludeAgents',
  'avoidGroups',
  'retryCause',
  'requiredImageDigest',
  'id',
  'creationId',
  'parentSessionId',
  'attempt',
  'retryCount',
  'uncountedRetries',
] as const satisfies SessionField[]

export type RetryField = (typeof RETRY_FIELDS)[number]

/** An automatic retry to be created. */
export type NewRetry = Pick<NewSession, RetryField | 'kernelIds'> & { parentSessionId: string }

const entries = Object.entries(SESSION_COLUMNS) as [SessionField, Columns[SessionField]][]

/** The values of a first attempt that is given nothing else. */
export const FIRST_ATTEMPT = Object.fromEntries(
  entries.flatMap(([field, { first }]) => (first.length === 0 ? [] : [[field, first[0]]])),
) as Values<FieldWithFirst>

/**
 * The fields in which attempts may differ. Dependencies are not among them, because only a first attempt waits for
 * them.
 */
export const SPEC_FIELDS = fieldsOf('spec')

const INHERITED = fieldsOf('spec', 'inherited')

/** The fields that a child copies from its parent. */
export type Inherited = Values<FieldOf<'spec' | 'inherited'>>

export function inheritedFrom(parent: Inherited): Inherited {
  return Object.fromEntries(INHERITED.map((field) => [field, parent[field]])) as Inherited
}

/** The fields of a parent from which those of its child are derived. */
interface Parent {
  /** The creation id of the chain's first session. */
  rootCreationId: string
  attempt: number
  epoch: number
  epochStartedAt: Date
  retryCount: number
  uncountedRetries: number
  maxRetries: number
  /** The digest of the image that it ran, or was to run; null if unknown. */
  imageDigest: string | null
  volumeNeed: VolumeNeed | null
}

/** The same, with all fields that a child inherits. */
export interface ChildSource extends Parent, Inherited {
  dependsOnChains: string[]
}

const RETRY_SOURCE_FIELDS = [
  'projectId',
  'userId',
  'resourceGroup',
  'resourceSlots',
  'gpuNeed',
  'clusterMode',
  'clusterSize',
  'batchTimeout',
  'retryPolicy',
  'avoidAgents',
  'allowAgents',
  'excludeAgents',
  'avoidGroups',
  'agentLabels',
  'chainId',
  'traceParent',
] as const satisfies (keyof Inherited)[]

/** The same, with the few fields that decide about an automatic retry. */
export interface RetrySource extends Parent, Pick<Inherited, (typeof RETRY_SOURCE_FIELDS)[number]> {}

/** A VolumeNeed of `sessions s`; null for most. */
export const VOLUME_NEED = `CASE WHEN s.mounts <> '[]' THEN json_build_object('mounts', s.mounts,
    'project', (SELECT p.name FROM projects p WHERE p.id = s.project_id)) END`

/**
 * Memory of the largest GPU that `sessions s` has or had, in bytes; null if it had none, or if no driver reports it.
 * Index: kernels_session_id_role_index_key.
 */
export const HAD_GPU_MEMORY_BYTES = `(SELECT max((gpu ->> 'memoryBytes')::float8)
    FROM kernels k CROSS JOIN LATERAL jsonb_array_elements(k.gpus) AS gpu WHERE k.session_id = s.id)`

/**
 * Peak memory of the kernel of `sessions s` that used the most, in bytes; null if it is unknown. Index:
 * kernels_session_id_role_index_key.
 */
export const PEAK_MEMORY_BYTES = `(SELECT max(k.peak_memory_bytes)::float8 FROM kernels k WHERE k.session_id = s.id)`

/** Whether the session needs an agent whose ports can be reached, because it serves people or requests. */
export const NEEDS_PORTS = `s.session_type <> 'BATCH'`

const sourceColumns = (fields: readonly (keyof Inherited)[]) => `
  ${fields.map((field) => `s.${SESSION_COLUMNS[field].column} AS "${field}"`).join(', ')},
  root.creation_id AS "rootCreationId", s.attempt, s.epoch, s.epoch_started_at AS "epochStartedAt",
  s.retry_count AS "retryCount", s.uncounted_retries AS "uncountedRetries", s.max_retries AS "maxRetries",
  coalesce(s.image_digest, s.required_image_digest) AS "imageDigest",
  ${VOLUME_NEED} AS "volumeNeed"`

/** The columns of a RetrySource, from `sessions s` and the first session of its chain, `root`. */
export const RETRY_SOURCE_COLUMNS = sourceColumns(RETRY_SOURCE_FIELDS)

/** The columns of a ChildSource, from the same. */
export const CHILD_SOURCE_COLUMNS = `${sourceColumns(INHERITED)},
  ARRAY(SELECT sd.chain_id FROM session_dependencies sd WHERE sd.session_id = s.id) AS "dependsOnChains"`

/**
 * Builds the milliseconds until every kernel of `sessions s` is certain to be gone; 0 if all are. If an agent has not
 * confirmed a kernel's end, the kernel is certain to be gone once the agent must have stopped it under its own fencing
 * rule: `fence_after_ms` plus a margin after the agent was last heard.
 */
export function parentAliveMs(marginMs: `$${number}`): string {
  return `coalesce((SELECT greatest(0,
      max(ceil(extract(epoch FROM a.last_heard_at - reprise_now()) * 1000) + a.fence_after_ms + ${marginMs}))
    FROM kernels k JOIN agents a ON a.id = k.agent_id
    WHERE k.session_id = s.id AND NOT k.confirmed_gone), 0)::float8`
}

function fieldsOf<Kind extends string>(...kinds: Kind[]): FieldOf<Kind>[] {
  const wanted: readonly string[] = kinds
  return entries.flatMap(([field, { kind }]) => (wanted.includes(kind) ? [field as FieldOf<Kind>] : []))
}
