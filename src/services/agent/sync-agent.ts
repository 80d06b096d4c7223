import { observedGpus } from './register-agent.ts'
import { recordGpuFigures } from '../../store/sql/agent/gpus.sql.ts'
import { z } from 'zod'
import { GENERATION_MAX, readFoundCheckpoint, readLeftCheckpoint } from '../../domain/agent/checkpoint.ts'
import { isImageDigest, readGpus, readGpuUsage, readKernelUsage } from '../../domain/agent/kernel-report.ts'
import type { ChainReport, KernelOrder, ObservedKernel, SyncAnswer, SyncRequest } from '../../domain/agent/protocol.ts'
import type { Reconciliation } from '../../domain/agent/reconcile.ts'
import { RepriseError } from '../../domain/errors.ts'
import {
  LOG_BYTES_PER_SYNC_MAX,
  LOG_CHUNK_BYTES_MAX,
  NAME_LENGTH_MAX,
  OBSERVED_KERNELS_MAX,
  PROGRESS_LINE_LENGTH_MAX,
  REPORTED_CHAINS_MAX,
  REPORTED_SIZES_MAX,
  REPORTED_TEXT_LENGTH_MAX,
  SLURM_JOB_ID_LENGTH_MAX,
} from '../../domain/limits.ts'
import { isStorableText, STORABLE_TEXT, toPlainLine, toStorableText } from '../../domain/storable-text.ts'
import { retryEnvironment } from '../../domain/retry/child.ts'
import { clusterEnvironment, executorOptionsFor } from '../../domain/session/kernel-environment.ts'
import { readProgramVerdict } from '../../domain/session/program-verdict.ts'
import type { Queryable } from '../../store/database.ts'
import {
  readPastGenerations,
  recordChainDirectories,
  recordChainSizes,
} from '../../store/sql/agent/chain-directories.sql.ts'
import { type OrderSource, readOrderSources } from '../../store/sql/agent/agent-work.sql.ts'
import { failUnreadable, type UnreadableSecrets } from '../../store/sql/retry/retry-waits.sql.ts'
import { storeLogs } from '../../store/sql/agent/kernel-logs.sql.ts'
import { recordHeartbeat } from '../../store/sql/agent/sync-agent.sql.ts'
import { applyReport } from './apply-report.ts'
import { SecretKeyError } from '../access/secrets.ts'
import { openEnviron } from '../session/plan-attempt.ts'
import type { ServiceContext } from '../service-context.ts'
import { issuesOf, refuseInput } from '../input/parse-input.ts'

/** Exit codes have 8 bits, or are 128 + signal; on Windows they have 32 bits, which the column stores as signed. */
const exitCode = z
  .int()
  .min(-2_147_483_648)
  .max(4_294_967_295)
  .transform((code) => code | 0)
/**
 * Text that is never refused because of its characters, because otherwise the end of a kernel would not be recorded.
 */
const words = (max: number) => z.string().max(max).transform(toStorableText)
/** One line of text, which is never refused either. */
const line = (max: number) =>
  z
    .unknown()
    .optional()
    .transform((text) => toPlainLine(text, max))
const failure = z.object({ name: words(64), message: words(4_096), exitCode: exitCode.optional() })

const schema = z.object({
  agentId: z.uuid(),
  instanceId: z.uuid(),
  sequence: z.int().min(1).max(Number.MAX_SAFE_INTEGER),
  observed: z
    .array(
      z.object({
        kernelId: z.uuid(),
        assignment: z.int().min(0).max(2_147_483_647),
        status: z.enum(['PREPARING', 'PULLING', 'PREPARED', 'RUNNING', 'FAILED', 'EXITED']),
        exitCode: exitCode.nullable(),
        oomKilled: z.boolean(),
        error: failure.nullable(),
        startedAt: z.string().max(64).nullable(),
        endedAt: z.string().max(64).nullable(),
        // Older agents send no port.
        port: z.int().min(1).max(65_535).nullable().default(null),
        verdict: z.unknown().optional().transform(readProgramVerdict),
        stopped: z.boolean().optional(),
        inTime: z.boolean().optional(),
        usage: z.unknown().optional().transform(readKernelUsage),
        gpus: z.unknown().optional().transform(readGpus),
        gpuUsage: z.unknown().optional().transform(readGpuUsage),
        foundCheckpoint: z.unknown().optional().transform(readFoundCheckpoint),
        leftCheckpoint: z.unknown().optional().transform(readLeftCheckpoint),
        leftOutputs: z.boolean().optional(),
        waiting: z.unknown().optional().transform(readWaiting),
        starting: z.boolean().optional(),
        progress: line(REPORTED_TEXT_LENGTH_MAX),
        gone: z.boolean().optional(),
        progressLine: line(PROGRESS_LINE_LENGTH_MAX),
        host: line(NAME_LENGTH_MAX),
        slurmJobId: line(SLURM_JOB_ID_LENGTH_MAX),
        imageDigest: z
          .unknown()
          .optional()
          .transform((digest) => (isImageDigest(digest) ? digest : null)),
      }),
    )
    .max(OBSERVED_KERNELS_MAX),
  logs: z.array(
    z.object({
      kernelId: z.uuid(),
      assignment: z.int().min(0).max(2_147_483_647),
      stream: z.enum(['STDOUT', 'STDERR']),
      offset: z.int().min(0),
      bytes: z.int().min(1).max(LOG_CHUNK_BYTES_MAX),
      // Each byte that is not valid UTF-8 is decoded as a character of three bytes.
      text: z.string().max(LOG_CHUNK_BYTES_MAX).refine(isStorableText, STORABLE_TEXT),
      // The database's calendar has no year 0.
      at: z.iso.datetime().refine((at) => at >= '0001', 'must not lie before the year 1'),
    }),
  ),
  waitMs: z.number(),
  chains: z
    .object({
      after: z.uuid().nullable(),
      upTo: z.uuid().nullable(),
      chainIds: z.array(z.uuid()).max(REPORTED_CHAINS_MAX),
      generations: z.record(z.uuid(), z.int().min(0).max(GENERATION_MAX)).optional(),
    })
    .optional(),
  chainSizes: z
    .array(
      z.object({
        chainId: z.uuid(),
        generation: z.int().min(0).max(GENERATION_MAX),
        bytes: z.int().min(0).max(Number.MAX_SAFE_INTEGER),
      }),
    )
    .max(REPORTED_SIZES_MAX)
    .optional(),
  gpus: observedGpus.optional(),
})

export type SyncContext = Pick<ServiceContext, 'db' | 'wake' | 'secrets' | 'metrics'>

export interface AgentSync {
  answer: SyncAnswer
  /** Kernels whose logs have grown. */
  loggedKernelIds: string[]
}

/**
 * Runs one exchange with an agent: records what it observed, and returns what it should do. Everything is compared with
 * the records, so a message that is lost, late or repeated does no harm, and any server can receive it; changes take
 * effect only on the assignment and status for which they were made.
 * @throws RepriseError VALIDATION_FAILED, AGENT_UNKNOWN, AGENT_SUPERSEDED
 */
export async function syncAgent(context: SyncContext, request: SyncRequest): Promise<AgentSync> {
  const { db, wake } = context
  const sync = parse(request)
  const { agentId, instanceId, logs } = sync
  const observedIds = sync.observed.map(({ kernelId }) => kernelId)
  const heard = await recordHeartbeat(db, agentId, instanceId, observedIds)
  if (!heard) throw new RepriseError('AGENT_UNKNOWN', `no agent ${agentId}: register first`)
  if (!heard.current)
    throw new RepriseError('AGENT_SUPERSEDED', `another process has since registered as agent ${agentId}`)
  if (heard.wasAway) wake.wake('schedule-sessions')
  // Logs are stored first, so that a kernel recorded as ended has all of its output.
  await storeLogs(db, agentId, logs)
  const loggedKernelIds = [...new Set(logs.map(({ kernelId }) => kernelId))]
  await recordChainSizes(db, agentId, sync.chainSizes ?? [])
  if (sync.gpus !== undefined) await recordGpuFigures(db, sync, sync.gpus)
  const report = await applyReport(context, sync, heard.kernels)
  const { returnGpus, takeGpus } = heard
  const wishes = {
    ...(heard.channels && { channels: heard.channels }),
    ...(returnGpus?.length && { returnGpus }),
    ...(takeGpus && { takeGpus }),
  }
  if (!report) return { answer: { orders: [], forget: [], ...wishes }, loggedKernelIds }
  wake.wake(...report.topics)
  const { forget } = report.result
  const drops = sync.chains === undefined ? {} : await dropsOf(db, agentId, sync.chains)
  const orders = await makeOrders(context, report.result)
  return { answer: { orders, forget, ...drops, ...wishes }, loggedKernelIds }
}

/** Returns the directories that the agent can delete, because nothing needs them. */
async function dropsOf(
  db: Queryable,
  agentId: string,
  report: ChainReport,
): Promise<Pick<SyncAnswer, 'dropChains' | 'dropGenerations'>> {
  const dropChains = await recordChainDirectories(db, agentId, report)
  const dropGenerations = await readPastGenerations(db, agentId, report)
  return { ...(dropChains.length > 0 && { dropChains }), ...(dropGenerations.length > 0 && { dropGenerations }) }
}

function readWaiting(value: unknown): ObservedKernel['waiting'] {
  if (typeof value !== 'object' || value === null) return null
  const reason = toPlainLine((value as Record<string, unknown>)['reason'], REPORTED_TEXT_LENGTH_MAX)
  return { reason: reason ?? 'in the queue of its executor' }
}

function parse(request: SyncRequest): SyncRequest {
  const parsed = schema.safeParse(request)
  if (!parsed.success) return refuseInput(issuesOf(parsed.error).slice(0, 10))
  if (parsed.data.logs.reduce((sum, { bytes }) => sum + bytes, 0) > LOG_BYTES_PER_SYNC_MAX) {
    const message = `at most ${LOG_BYTES_PER_SYNC_MAX} bytes in one sync`
    refuseInput([{ path: 'logs', message }])
  }
  return parsed.data
}

async function makeOrders({ db, secrets }: SyncContext, { orders }: Reconciliation): Promise<KernelOrder[]> {
  const sources = await readOrderSources(
    db,
    orders.map(({ kernelId }) => kernelId),
  )
  const unreadable: UnreadableSecrets[] = []
  const made = orders.flatMap(({ kernelId, assignment, want }): KernelOrder[] => {
    const source = sources.get(kernelId)
    if (!source) return []
    if (want === 'STOP') return [{ want, kernelId, assignment, graceMs: source.stopGraceMs }]
    const spec = specOf(source)
    if (want === 'PREPARE' || source.secretEnviron.length === 0) return [{ want, assignment, spec }]
    try {
      const environ = [...openEnviron(secrets, source.secretEnviron), ...spec.environ]
      return [{ want, assignment, spec: { ...spec, environ } }]
    } catch (error) {
      if (!(error instanceof SecretKeyError)) throw error
      unreadable.push({ kernelId, assignment, message: error.message })
      return []
    }
  })
  if (unreadable.length > 0) await failUnreadable(db, unreadable)
  return made
}

/** The specification without secrets, which are only for kernels that start. */
function specOf(source: OrderSource) {
  const {
    retryCount,
    maxRetries,
    parentSessionId,
    retryCause,
    secretEnviron: __,
    environ,
    clusterMode,
    members,
    sessionType,
    groupExecutorOptions,
    allowedExecutorOptions,
    sessionExecutorOptions,
    checkpointGeneration,
    checkpointAttempt,
    checkpointStore,
    checkpointRelayed,
    groupIndex,
    groupSize,
    lastProgress,
    ...rest
  } = source
  const place = { store: checkpointStore, relayed: checkpointRelayed === true }
  const newest = checkpointAttempt === null ? null : { attempt: checkpointAttempt, ...place }
  const checkpoint = checkpointGeneration === null ? null : { generation: checkpointGeneration, newest }
  const group = { executorOptions: groupExecutorOptions, allowedExecutorOptions }
  const spec = { ...rest, checkpoint, executorOptions: executorOptionsFor(group, sessionExecutorOptions) }
  const { sessionId: id, chainId, attempt } = spec
  const own = retryEnvironment({
    id,
    chainId,
    sessionType,
    attempt,
    retryCount,
    maxRetries,
    parentSessionId,
    retryCause,
    groupIndex,
    groupSize,
    lastProgress,
  })
  const cluster = clusterEnvironment(spec, { mode: clusterMode, members })
  return { ...spec, environ: [...environ, ...own, ...cluster] }
}
