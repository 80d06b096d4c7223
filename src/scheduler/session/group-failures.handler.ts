import { createHash } from 'node:crypto'
import {
  FAILURE_LOG_BYTES,
  FAILURES_BATCH_MAX,
  FAILURES_DESCRIBED_AT_ONCE_MAX,
  FORMER_MASKS_KEPT_MS,
  USUAL_LOG_BYTES,
  USUAL_RUNS_KEPT_MAX,
  USUAL_RUNS_READ_MAX,
} from '../../domain/limits.ts'
import { type FailureRule, fingerprintOf } from '../../domain/insight/fingerprint.ts'
import { MASK_VERSIONS, type Masks, type MaskVersions } from '../../domain/insight/mask-lines.ts'
import { usualLines } from '../../domain/insight/failure-lines.ts'
import type { Wake } from '../../domain/wake.ts'
import { messageOf } from '../../observability/error-message.ts'
import type { Logger } from '../../observability/log.ts'
import type { Database, Queryable } from '../../store/database.ts'
import { readKernelLogs } from '../../store/sql/agent/kernel-logs.sql.ts'
import {
  type DescribedFailure,
  type DueFailure,
  findFormerGroups,
  isRecentVersion,
  keepUsualLines,
  readFailureRules,
  readUnreadRuns,
  readUsualLines,
  storeFailures,
  takeFailures,
  type WorkName,
} from '../../store/sql/insight/failures.sql.ts'
import { openBreakers, settleBreakers } from '../../store/sql/retry/breakers.sql.ts'
import type { RunReport } from '../background-service.ts'

interface InsightContext {
  db: Database
  wake: Wake
  log: Logger
}

/**
 * Finds the groups of failed attempts by what their logs say. Decisions note the attempts, and never wait for this. Each
 * is taken, described and stored in one transaction: after a crash it is taken again. Opens the breakers of groups that
 * have too many failures now, and closes those that have done their work.
 */
export async function groupFailures(
  { db, wake, log }: InsightContext,
  masks: MaskVersions = MASK_VERSIONS,
): Promise<RunReport> {
  // Not in the transaction below: dispatchers would wait for the locks of breakers until all logs are read.
  const closed = await settleBreakers(db)
  const done = await db.transaction(async (tx) => {
    const due = await takeFailures(tx, FAILURES_BATCH_MAX)
    if (due.length === 0) return { number: 0, created: 0, opened: 0 }
    const names = distinctNames(due)
    const versions = await versionsInForce(tx, masks)
    for (let at = 0; at < names.length; at += FAILURES_DESCRIBED_AT_ONCE_MAX)
      await readSuccesses(tx, names.slice(at, at + FAILURES_DESCRIBED_AT_ONCE_MAX), versions)
    const usual = await usualOf(tx, names)
    const rules = await readFailureRules(tx, [...new Set(due.map(({ projectId }) => projectId))])
    const described: DescribedFailure[] = []
    for (let at = 0; at < due.length; at += FAILURES_DESCRIBED_AT_ONCE_MAX) {
      const some = due.slice(at, at + FAILURES_DESCRIBED_AT_ONCE_MAX)
      const kernelIds = some.map(({ kernelId }) => kernelId)
      const logs = await readLogs(tx, kernelIds, FAILURE_LOG_BYTES)
      described.push(...some.map((failure) => describe(failure, { logs, usual, rules, versions, log })))
    }
    const created = await storeFailures(tx, await findFormerGroups(tx, described))
    const opened = await openBreakers(
      tx,
      due.map(({ sessionId }) => sessionId),
    )
    return { number: due.length, created, opened }
  })
  if (done.opened > 0) log.warn({ breakers: done.opened }, 'retries of failures that hit many chains are held')
  if (closed > 0) {
    log.info({ breakers: closed }, 'retries that a breaker held are released')
    wake.wake('dispatch-retries')
  }
  if (done.created > 0) wake.wake('events')
  return { done: done.number, more: done.number === FAILURES_BATCH_MAX }
}

/** The masks, and for some time after they changed those before. */
async function versionsInForce(tx: Queryable, [newest, former]: MaskVersions): Promise<MaskVersions> {
  if (former === undefined) return [newest]
  return (await isRecentVersion(tx, newest.version, FORMER_MASKS_KEPT_MS)) ? [newest, former] : [newest]
}

function distinctNames(due: readonly DueFailure[]): WorkName[] {
  return [...new Map(due.map(({ projectId, name }) => [keyOf({ projectId, name }), { projectId, name }])).values()]
}

function keyOf({ projectId, name }: WorkName): string {
  return `${projectId} ${name}`
}

/** Notes which error-like lines the newest successful runs of these names print. */
async function readSuccesses(tx: Queryable, names: readonly WorkName[], versions: MaskVersions): Promise<void> {
  const unread = await readUnreadRuns(tx, names, USUAL_RUNS_READ_MAX)
  const logs = await readLogs(
    tx,
    unread.map(({ kernelId }) => kernelId),
    USUAL_LOG_BYTES,
  )
  const read = unread.map(({ projectId, name, sessionId, kernelId }) => {
    const masked = masksOf(versions).flatMap((mask) => usualLines(logs.get(kernelId) ?? '', mask))
    return { projectId, name, sessionId, hashes: [...new Set(masked)].map(hashOf) }
  })
  await keepUsualLines(tx, read, USUAL_RUNS_KEPT_MAX)
}

function masksOf(versions: MaskVersions): Masks['mask'][] {
  return versions.flatMap((each) => each?.mask ?? [])
}

async function usualOf(tx: Queryable, names: readonly WorkName[]): Promise<Map<string, Set<string>>> {
  const usual = new Map<string, Set<string>>()
  for (const { hashes, ...name } of await readUsualLines(tx, names)) {
    const known = usual.get(keyOf(name)) ?? new Set()
    for (const hash of hashes) known.add(hash)
    usual.set(keyOf(name), known)
  }
  return usual
}

/** The end of the log of each kernel: what its two streams wrote, in the order in which it arrived. */
async function readLogs(
  tx: Queryable,
  kernelIds: readonly (string | null)[],
  bytesMax: number,
): Promise<Map<string, string>> {
  const known = kernelIds.filter((id) => id !== null)
  if (known.length === 0) return new Map()
  const window = { after: '0', before: null, backward: true, piecesMax: PIECES_MAX, bytesMax }
  const pieces = await readKernelLogs(tx, known, window)
  const byKernel = Map.groupBy(pieces, ({ kernelId }) => kernelId)
  return new Map([...byKernel].map(([id, own]) => [id, own.map(({ text }) => text).join('')]))
}

const PIECES_MAX = 200

interface Known {
  /** By kernel. */
  logs: ReadonlyMap<string, string>
  usual: ReadonlyMap<string, ReadonlySet<string>>
  /** By project. */
  rules: ReadonlyMap<string, readonly FailureRule[]>
  versions: MaskVersions
  log: Logger
}

function describe(failure: DueFailure, { logs, usual, rules, versions, log }: Known): DescribedFailure {
  const { sessionId, projectId, chainId, name, cause, exitCode, failedAt, statusData, kernelId } = failure
  const known = usual.get(keyOf({ projectId, name }))
  const facts = { cause, exitCode, error: statusData?.error ?? null, rules: rules.get(projectId) ?? [] }
  // What was noted by the masks before still holds.
  const isUsual = (line: string) => masksOf(versions).some((mask) => known?.has(hashOf(mask(line))) === true)
  const common = { sessionId, projectId, chainId, cause, exitCode, failedAt }
  try {
    const text = kernelId === null ? '' : (logs.get(kernelId) ?? '')
    return { ...common, ...fingerprintOf({ ...facts, log: text, isUsual }, versions) }
  } catch (error) {
    // No log may keep the others from their groups.
    log.error({ sessionId, error: messageOf(error) }, 'a failure could not be described by its log')
    return { ...common, ...fingerprintOf({ ...facts, log: '', isUsual: () => false }, versions) }
  }
}

/** 64 bits of a digest, as PostgreSQL's bigint in decimal. */
function hashOf(masked: string): string {
  return createHash('sha256').update(masked).digest().readBigInt64BE(0).toString()
}
