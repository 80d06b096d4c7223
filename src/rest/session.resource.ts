import type { GpuNeed } from '../domain/gpu.ts'
import { z } from '@hono/zod-openapi'
import { exitSignalOf, FAILURE_CAUSES, failureReason, RETRY_PHASES } from '../domain/session/failure.ts'
import { USAGE_SOURCES } from '../domain/agent/kernel-report.ts'
import { retryState } from '../domain/retry/retry-state.ts'
import { showStoredPolicy } from '../domain/retry/policy/stored-policy.ts'
import { type InputRequest, OUTPUTS_WHEN, type OutputsRequest } from '../domain/session/outputs.ts'
import { secretNames } from '../domain/session/kernel-environment.ts'
import { STATUSES } from '../domain/session/lifecycle.ts'
import type { SessionRecord } from '../services/session/read-sessions.ts'
import {
  environ,
  labels,
  mounts,
  requiredGpus,
  secretEnviron,
  slots,
  time,
  toLabels,
  toMounts,
  toRequiredGpus,
  toSlots,
  toTime,
} from './fields.ts'
import { RetryPolicyResource, toRetryPolicy } from './retry.resource.ts'
import { pageOf } from './route-parts.ts'

const cause = () => z.enum(FAILURE_CAUSES).nullable()

const RetryStateResource = z
  .object({
    phase: z.enum(RETRY_PHASES),
    attempt: z.int().openapi({ description: '1-based within the present budget: `retry_count` + 1.' }),
    max_attempts: z.int().openapi({ description: '`max_retries` + 1, or 1 for a session that is not BATCH.' }),
    label: z.string().openapi({ example: 'attempt 2 of 4' }),
    reason: z.string().nullable(),
    due_at: time().nullable().openapi({ description: 'When the retry is or was due.' }),
    scheduled_at: time().nullable().openapi({ deprecated: true, description: 'The former name of `due_at`.' }),
    delay_seconds: z.number().nullable(),
    child_session_id: z.uuid().nullable(),
  })
  .openapi('RetryState', { description: "The state of a session's retry, for display." })

const UsageResource = z
  .object({
    peak_memory_bytes: z
      .int()
      .nullable()
      .openapi({ description: 'Peak memory of the kernel that used the most, in bytes.' }),
    cpu_seconds: z
      .number()
      .nullable()
      .openapi({ description: 'CPU time, user and system, of all kernels together, in seconds.' }),
    wall_seconds: z.number().nullable().openapi({ description: 'Time of the kernel that took longest, in seconds.' }),
    source: z
      .enum(USAGE_SOURCES)
      .openapi({ description: 'PROCESSES: some figures are sums over its processes, and are not exact.' }),
  })
  .openapi('Usage', {
    description: 'Resources that an attempt used, once it has ended. A figure is null if it is not known.',
  })

const CheckpointResource = z
  .object({
    state: z.enum(['NONE', 'HERE', 'FETCHED', 'MISSING']).openapi({
      description:
        "NONE: there was no checkpoint. HERE: it was in the session's directory. FETCHED: it was copied there from elsewhere. MISSING: there was one, but it was not available.",
    }),
    from_attempt: z.int().nullable().openapi({ description: 'The attempt that left it.' }),
    bytes: z.int().nullable().openapi({ description: 'The size of its files in bytes, if it is known.' }),
    store: z.uuid().nullable().openapi({ description: 'Id of the directory that it is stored in.' }),
    published_at: time().nullable().openapi({
      description: 'When it was recorded; for a copy, when the copy was made.',
    }),
    note: z.string().nullable().openapi({ description: 'Why it was not available, in words.' }),
  })
  .openapi('Checkpoint', { description: 'The checkpoint that earlier attempts of its chain left for a session.' })

const OutputsRequestResource = z
  .object({
    paths: z.array(z.string()).openapi({ description: 'Patterns in the syntax of `.gitignore`.' }),
    when: z.enum(OUTPUTS_WHEN).openapi({ description: 'The attempts whose outputs are collected.' }),
    keep_days: z.number().nullable().openapi({ description: 'Days to keep them; null for the default.' }),
    in_place: z.boolean().openapi({ description: "Whether they stay on the agent's disk, and are only listed." }),
  })
  .openapi('OutputsRequest', {
    description:
      'Files to collect at the end of each attempt; `GET /v2/sessions/{id}/outputs` has those of an attempt.',
  })

const InputFilesResource = z
  .object({
    from: z.uuid().openapi({ description: 'Id of the chain, whose attempt that succeeded has the files.' }),
    match: z.string().nullable().openapi({ description: 'Only files that match this pattern; null for all.' }),
    to: z
      .string()
      .nullable()
      .openapi({ description: 'The directory that they are in; null for the working directory.' }),
  })
  .openapi('InputFiles', { description: 'Outputs of another chain that a session finds in its working directory.' })

export const SessionResource = z
  .object({
    id: z.uuid(),
    creation_id: z.string(),
    name: z.string(),
    session_type: z.enum(['BATCH', 'INTERACTIVE', 'INFERENCE']),
    project: z.string(),
    resource_group: z.string(),
    status: z.enum(STATUSES),
    result: z.enum(['UNDEFINED', 'SUCCESS', 'FAILURE']),
    status_reason: z.string().nullable(),
    pending_reason: z.string().nullable(),
    progress: z.string().nullable().openapi({ description: 'The last line in the progress file of its program.' }),
    progress_at: time().nullable().openapi({ description: 'When that line was first reported.' }),
    impossible: z.boolean().openapi({ description: 'Whether it waits in vain: no agent and no quota could take it.' }),
    exit_code: z.int().nullable(),
    exit_signal: z
      .object({ name: z.string().openapi({ example: 'SIGKILL' }), number: z.int() })
      .nullable()
      .openapi({ description: 'The signal that `exit_code` stands for: 128 plus its number.' }),
    usage: UsageResource.nullable(),
    checkpoint: CheckpointResource,
    failure_cause: cause(),
    failure_reason: z
      .string()
      .nullable()
      .openapi({ description: 'A more exact name of its failure.', example: 'task-timeout' }),
    timed_out: z.boolean().openapi({ description: 'Whether its batch timeout ended it.' }),
    created_by: z.string().nullable().openapi({ description: 'Name of the token that created it.' }),
    user: z.string().nullable().openapi({ description: 'Its user.' }),
    terminated_by: z.string().nullable().openapi({ description: 'Name of the token that terminated it.' }),
    image: z.string().nullable(),
    command: z.array(z.string()),
    image_digest: z.string().nullable().openapi({
      description: 'Digest of the image that its kernels run, `sha256:…`; null until one of its agents reports it.',
    }),
    required_image_digest: z.string().nullable().openapi({
      description:
        'Digest of the image that its kernels must run: that of the attempt before, unless `pin_image` is false in its policy.',
    }),
    code_sha256: z.string().nullable().openapi({
      description: 'SHA-256 of the archive whose files each attempt finds in its working directory.',
    }),
    environ: environ(),
    secret_environ: secretEnviron(),
    resource_slots: slots(),
    required_gpus: requiredGpus(),
    cluster_size: z.int(),
    cluster_mode: z.enum(['SINGLE_NODE', 'MULTI_NODE']),
    batch_timeout: z.number().nullable(),
    gpu_idle_timeout: z.number().nullable(),
    on_hang: z.array(z.string()),
    never_run_twice: z.boolean(),
    stop_grace: z.number().nullable(),
    max_pending: z.number().nullable().openapi({ description: 'Seconds that it may wait in PENDING.' }),
    starts_at: time().nullable(),
    priority: z.int(),
    labels: labels(),
    allow_agents: z
      .array(z.uuid())
      .openapi({ description: 'Ids of the only agents that may run it; an empty list means all.' }),
    avoid_agents: z.array(z.uuid()).openapi({
      description: 'Ids of agents that are used only after all others; those at the end of this list last.',
    }),
    exclude_agents: z.array(z.uuid()).openapi({ description: 'Ids of agents that must not run it.' }),
    agent_labels: labels().openapi({ description: 'An agent must have all of them to run it.' }),
    executor_options: labels().openapi({
      description: 'Its own executor options. Options that its resource group does not allow have no effect.',
    }),
    mounts: mounts(),
    outputs: OutputsRequestResource.nullable(),
    inputs: z.array(InputFilesResource),
    concurrency_key: z.string().nullable().openapi({
      description: 'Only `concurrency_limit` sessions of its project with this key are placed at the same time.',
    }),
    concurrency_limit: z.int().nullable().openapi({ description: 'Limit for `concurrency_key`; null without a key.' }),
    created_at: time(),
    started_at: time().nullable(),
    terminated_at: time().nullable(),
    chain_id: z.uuid(),
    attempt: z.int().openapi({ description: '1-based position in the chain.' }),
    epoch: z.int(),
    origin: z.enum(['INITIAL', 'AUTO_RETRY', 'RESUBMISSION']),
    parent_session_id: z.uuid().nullable(),
    child_session_id: z.uuid().nullable(),
    retry_count: z.int(),
    max_retries: z.int(),
    uncounted_retries: z
      .int()
      .openapi({ description: 'Number of retries of this epoch that did not use up `max_retries`.' }),
    tries: z
      .int()
      .openapi({ description: 'Number of tries of the scheduler in its present status. They are not retries.' }),
    reschedules: z
      .int()
      .openapi({ description: 'Number of times it went back to PENDING because it could not be started.' }),
    depends_on: z
      .array(z.uuid())
      .openapi({ description: 'Ids of the first attempts of the chains that must succeed before it starts.' }),
    group_id: z.uuid().nullable().openapi({ description: 'The group that its chain is a member of.' }),
    group_index: z.int().nullable().openapi({ description: 'Its number in that group.' }),
    retry_policy: RetryPolicyResource,
    retry_cause: cause().openapi({
      description: "The cause of its parent's failure, for a retry and for a resubmission; else null.",
    }),
    retry_chain: z.array(z.uuid()).openapi({ description: 'Ids of all attempts, oldest to newest.' }),
    retry_state: RetryStateResource,
  })
  .openapi('Session', { description: 'A session: one attempt at a piece of work.' })

function toUsage({ peakMemoryBytes, cpuSeconds, wallSeconds, source }: NonNullable<SessionRecord['usage']>) {
  return { peak_memory_bytes: peakMemoryBytes, cpu_seconds: cpuSeconds, wall_seconds: wallSeconds, source }
}

function toCheckpoint({ fromAttempt, publishedAt, ...checkpoint }: SessionRecord['checkpoint']) {
  const { state, bytes, store, note } = checkpoint
  return { state, from_attempt: fromAttempt, bytes, store, published_at: publishedAt?.toISOString() ?? null, note }
}

export function toSession(record: SessionRecord): z.infer<typeof SessionResource> {
  const { decision } = record
  const state = retryState(record, decision)
  return {
    id: record.id,
    creation_id: record.creationId,
    name: record.name,
    session_type: record.sessionType,
    project: record.project.name,
    resource_group: record.resourceGroup,
    status: record.status,
    result: record.result,
    status_reason: record.statusReason,
    pending_reason: record.pendingReason,
    progress: record.progress?.line ?? null,
    progress_at: toTime(record.progress?.at ?? null),
    impossible: record.impossible,
    exit_code: record.exitCode,
    exit_signal: exitSignalOf(record.exitCode),
    usage: record.usage && toUsage(record.usage),
    checkpoint: toCheckpoint(record.checkpoint),
    failure_cause: record.failureCause,
    failure_reason: failureReason(record),
    timed_out: record.timedOut,
    created_by: record.createdBy,
    user: record.user?.name ?? null,
    terminated_by: record.terminatedBy,
    image: record.image,
    command: record.command,
    image_digest: record.imageDigest,
    required_image_digest: record.requiredImageDigest,
    code_sha256: record.codeSha256,
    environ: record.environ,
    secret_environ: secretNames(record.secretEnviron),
    resource_slots: toSlots(record.resourceSlots),
    required_gpus: toRequiredGpus(record.gpuNeed as GpuNeed | null),
    cluster_size: record.clusterSize,
    cluster_mode: record.clusterMode,
    batch_timeout: record.batchTimeout,
    gpu_idle_timeout: record.gpuIdleTimeout,
    on_hang: record.onHang,
    never_run_twice: record.neverRunTwice,
    stop_grace: record.stopGrace,
    max_pending: record.maxPending,
    starts_at: toTime(record.startsAt),
    priority: record.priority,
    labels: toLabels(record.labels),
    allow_agents: record.allowAgents,
    avoid_agents: record.avoidAgents,
    exclude_agents: record.excludeAgents,
    agent_labels: toLabels(record.agentLabels),
    executor_options: toLabels(record.executorOptions),
    mounts: toMounts(record.mounts),
    outputs: toOutputsRequest(record.outputs),
    inputs: toInputs(record.inputs),
    concurrency_key: record.concurrencyKey,
    concurrency_limit: record.concurrencyLimit,
    created_at: record.createdAt.toISOString(),
    started_at: toTime(record.startedAt),
    terminated_at: toTime(record.terminatedAt),
    chain_id: record.chainId,
    attempt: record.attempt,
    epoch: record.epoch,
    origin: record.origin,
    parent_session_id: record.parentSessionId,
    child_session_id: record.childSession?.id ?? null,
    retry_count: record.retryCount,
    max_retries: record.maxRetries,
    uncounted_retries: record.uncountedRetries,
    tries: record.tries,
    reschedules: record.reschedules,
    depends_on: record.dependsOn.map(({ chainId }) => chainId),
    group_id: record.groupId,
    group_index: record.groupIndex,
    retry_policy: toRetryPolicy(showStoredPolicy(record.retryPolicy, record.retryPolicySources).policy),
    retry_cause: record.retryCause,
    retry_chain: record.retryChain,
    retry_state: {
      phase: state.phase,
      attempt: state.attempt,
      max_attempts: state.maxAttempts,
      label: state.label,
      reason: state.reason,
      due_at: toTime(state.scheduledAt),
      scheduled_at: toTime(state.scheduledAt),
      delay_seconds: state.delaySeconds,
      child_session_id: decision?.childSessionId ?? null,
    },
  }
}

function toOutputsRequest(stored: unknown): z.infer<typeof OutputsRequestResource> | null {
  if (stored === null) return null
  const { paths, when, keepDays, inPlace = false } = stored as OutputsRequest
  return { paths, when, keep_days: keepDays, in_place: inPlace }
}

function toInputs(stored: unknown): z.infer<typeof InputFilesResource>[] {
  return (stored as InputRequest[]).map(({ chainId: from, match, to }) => ({ from, match, to }))
}

/**
 * A page of sessions. It is defined once, because all routes that list sessions refer to one component of the OpenAPI
 * document.
 */
export const SessionPage = pageOf(SessionResource).openapi('SessionPage')
