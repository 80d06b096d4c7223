import { type ErrorCode, RepriseError } from '../../domain/errors.ts'
import { RESUBMISSION_SHOWN_SESSIONS_MAX } from '../../domain/limits.ts'
import {
  countResubmissionItems as count,
  countCancelledDependents,
  countRefusals,
  itemList,
  type ItemPlace,
  readItemsAt as readAt,
  readResubmissionItems as read,
  readResubmissionProgress,
  type RefusalCount,
  type ResubmissionItemRow,
  type ResubmissionItemStatus,
} from '../../store/sql/resubmission/read-resubmission.sql.ts'
import type { ServiceContext } from '../service-context.ts'
import type { SessionAction } from '../../domain/session/session-spec.ts'
import type { Prisma } from '../../store/prisma.ts'
import { projectScope } from '../access/tenants.ts'
import {
  keysetPage,
  NEWEST_FIRST,
  type Page,
  type PageArguments,
  pageSize,
  parseSerialCursor,
  serialPageOf,
} from '../paging.ts'
import { shownOverrides } from '../session/session-fields.ts'
import type { ReadContext } from '../session/read-sessions.ts'
import type { WakeTopic } from '../../domain/wake.ts'
import type { Logger } from '../../observability/log.ts'
import { currentSpan, type TracedSession } from '../../observability/trace.ts'
import type { NewSession } from '../../store/sql/session/session-columns.sql.ts'
import type { BatchOutcome } from './act-on-batch.ts'
import { validate } from 'uuid'
import { readChildIds } from '../../store/sql/session/read-sessions.sql.ts'
import { abortResubmissionRow } from '../../store/sql/resubmission/open-resubmission.sql.ts'
import { actorOf, assertMayChange } from '../access/authorize.ts'

export { itemList }
export type { RefusalCount, ResubmissionItemRow, ResubmissionItemStatus }

/** @throws RepriseError RESUBMISSION_NOT_FOUND */
export async function assertResubmissionVisible({ db, viewer }: ServiceContext, id: string): Promise<void> {
  if (await readResubmissionProgress(db, id, viewer.projectId)) return
  throw new RepriseError('RESUBMISSION_NOT_FOUND', `no resubmission ${id}`)
}

/** Reads one page for each list. The caller has checked that the viewer may see them. */
export function readResubmissionItems(
  { db }: Pick<ServiceContext, 'db'>,
  input: { lists: readonly string[]; after: string; limit: number },
): Promise<ResubmissionItemRow[]> {
  return read(db, input.lists, input.after, input.limit)
}

/** Reads the items at these places that the viewer sees. */
export function readItemsAt(
  { db, viewer }: Pick<ServiceContext, 'db' | 'viewer'>,
  places: readonly ItemPlace[],
): Promise<ResubmissionItemRow[]> {
  return readAt(db, places, viewer.projectId)
}

export function countResubmissionItems(
  { db }: Pick<ServiceContext, 'db'>,
  lists: readonly string[],
): Promise<Map<string, number>> {
  return count(db, lists)
}

/** Counts the refused items so far by reason, the most frequent first. */
export function readRefusalCounts(
  { db }: Pick<ServiceContext, 'db'>,
  resubmissionIds: readonly string[],
): Promise<RefusalCount[]> {
  return countRefusals(db, resubmissionIds)
}

/** Counts the sessions outside a resubmission that were cancelled because chains with sessions in it had failed. */
export function readCancelledDependents(
  { db, viewer }: Pick<ServiceContext, 'db' | 'viewer'>,
  resubmissionId: string,
): Promise<number> {
  return countCancelledDependents(db, resubmissionId, viewer.projectId)
}

export interface ShownResubmission {
  resubmissionId: string
  /** Children, or for other actions than resubmission the sessions themselves. */
  sessionIds: string[]
  refused: { sessionId: string; code: ErrorCode; message: string; childSessionId: string | null }[]
}

/** Reads the progress of a resubmission, with its first sessions in the order in which they were named. */
export async function showResubmission(
  { db }: Pick<ServiceContext, 'db'>,
  resubmissionId: string,
): Promise<ShownResubmission> {
  const lists = [itemList(resubmissionId, 'DONE'), itemList(resubmissionId, 'REFUSED')]
  const items = await read(db, lists, '0', RESUBMISSION_SHOWN_SESSIONS_MAX)
  const parents = items.filter(({ code }) => code === 'SESSION_HAS_CHILD')
  const children = await readChildIds(
    db,
    parents.map(({ sessionId }) => sessionId),
  )
  return {
    resubmissionId,
    sessionIds: items.flatMap(({ status, sessionId, childSessionId }) =>
      status === 'DONE' ? [childSessionId ?? sessionId] : [],
    ),
    refused: items.flatMap(({ sessionId, code, message }) =>
      code === null ? [] : [{ sessionId, code, message: message!, childSessionId: children.get(sessionId) ?? null }],
    ),
  }
}

/** Complete resubmissions, for REST; GraphQL reads only what its query selects. */
export interface ResubmissionRecord extends Prisma.ResubmissionGetPayload<object> {
  /** The overrides as far as the viewer may read them. */
  shownOverrides: object
  /** The reasons for refusals so far, the most frequent first. */
  refusals: RefusalCount[]
}

/** @throws RepriseError RESUBMISSION_NOT_FOUND */
export async function readResubmission(context: ReadContext, id: string): Promise<ResubmissionRecord> {
  const found = await context.prisma.resubmission.findFirst({ where: { id, ...projectScope(context.viewer) } })
  if (!found) throw new RepriseError('RESUBMISSION_NOT_FOUND', `no resubmission ${id}`)
  return (await withRefusals(context, [found]))[0]!
}

/**
 * Reads resubmissions, newest first.
 * @throws RepriseError VALIDATION_FAILED
 */
export async function readResubmissions(
  context: ReadContext,
  { actions, page: args }: { actions: readonly SessionAction[] | null; page: PageArguments },
): Promise<Page<ResubmissionRecord>> {
  const { prisma, viewer } = context
  const own = { ...projectScope(viewer), ...(actions && { action: { in: [...actions] } }) }
  const page = await keysetPage({
    args,
    order: NEWEST_FIRST,
    find: ({ where, ...rest }) => prisma.resubmission.findMany({ ...rest, where: { AND: [own, where] } }),
    count: () => prisma.resubmission.count({ where: own }),
  })
  const nodes = await withRefusals(
    context,
    page.edges.map(({ node }) => node),
  )
  return { ...page, edges: page.edges.map(({ cursor }, index) => ({ cursor, node: nodes[index]! })) }
}

/**
 * Reads its sessions, in the order in which they were named. @throws RepriseError RESUBMISSION_NOT_FOUND,
 * VALIDATION_FAILED
 */
export async function readItemPage(
  context: ReadContext,
  { id, status, page: args }: { id: string; status: ResubmissionItemStatus | null; page: PageArguments },
): Promise<Page<ResubmissionItemRow>> {
  await readResubmission(context, id)
  const { size } = pageSize(args)
  const list = itemList(id, status)
  const after = parseSerialCursor(args.after)
  const rows = await readResubmissionItems(context, { lists: [list], after, limit: size + 1 })
  const countItems = async () => (await countResubmissionItems(context, [list])).get(list) ?? 0
  return serialPageOf(rows, { size, after: args.after, count: countItems })
}

async function withRefusals(
  { db, viewer }: ReadContext,
  found: readonly Prisma.ResubmissionGetPayload<object>[],
): Promise<ResubmissionRecord[]> {
  const ids = found.map(({ id }) => id)
  const counts = Map.groupBy(ids.length === 0 ? [] : await readRefusalCounts({ db }, ids), (row) => row.resubmissionId)
  return found.map((row) => ({
    ...row,
    shownOverrides: shownOverrides(viewer, row.overrides as object),
    refusals: counts.get(row.id) ?? [],
  }))
}

const WAKES: Readonly<Record<SessionAction, readonly WakeTopic[]>> = {
  RESUBMIT: ['schedule-sessions'],
  // Other sessions may depend on a chain that has now ended without success.
  CANCEL_RETRY: ['schedule-sessions'],
  RETRY_NOW: ['dispatch-retries'],
  TERMINATE: ['terminate-sessions', 'promote-to-terminated', 'decide-retries', 'drive-routes', 'schedule-sessions'],
}

/** Reports a batch after its commit: counts, traces, logs, and wakes the services that now have work. */
export function reportBatch(
  { metrics, log, wake }: Pick<ServiceContext, 'metrics' | 'log' | 'wake'>,
  resubmissionId: string,
  { action, done, created, refusals, superseded, decided, finished }: BatchOutcome,
): void {
  const { retries } = metrics
  retries.resubmitted.inc(created.length)
  if (action === 'RESUBMIT') for (const { code } of refusals) retries.resubmissionRefused.inc({ code })
  retries.cancelled.inc(superseded + decided.filter(({ phase }) => phase === 'CANCELLED').length)
  for (const { phase, cause } of decided) if (phase === 'EXHAUSTED') retries.exhausted.inc({ cause: cause! })
  const about = { resubmissionId, done, refused: refusals.length, finished }
  if (action === 'RESUBMIT') log.info(about, `resubmitted ${done}, refused ${refusals.length}`)
  else log.info({ ...about, action }, `${action} of ${done} sessions, refused ${refusals.length}`)
  if (log.isLevelEnabled('debug')) for (const child of created) logChild(log, resubmissionId, child)
  const span = currentSpan()
  span?.note({ 'reprise.resubmission.id': resubmissionId })
  span?.link(created.map(tracedParent))
  wake.wake(...WAKES[action], 'events', `resubmission:${resubmissionId}`)
}

function logChild(log: Logger, resubmissionId: string, { id, parentSessionId, chainId, attempt }: NewSession): void {
  const ids = { resubmissionId, sessionId: parentSessionId, chainId, childSessionId: id }
  log.debug(ids, `resubmitted as attempt ${attempt}`)
}

/** The session that was resubmitted. */
export function tracedParent({ id, parentSessionId, chainId, attempt, traceParent }: NewSession): TracedSession {
  const attributes = { 'reprise.child_session.id': id }
  return { sessionId: parentSessionId!, chainId, attempt: attempt - 1, traceParent, attributes }
}

/**
 * Stops a resubmission. Sessions that were already resubmitted keep their children; the others are not changed.
 * @throws RepriseError RESUBMISSION_NOT_FOUND, RESUBMISSION_FINISHED, FORBIDDEN
 */
export async function abortResubmission(
  { db, viewer, wake }: ServiceContext,
  { resubmissionId: id }: { resubmissionId: string },
): Promise<{ resubmissionId: string }> {
  assertMayChange(viewer)
  const whose = { id, visibleProjectId: viewer.projectId, actor: actorOf(viewer) }
  const state = validate(id) ? await abortResubmissionRow(db, whose) : undefined
  if (state === undefined) throw new RepriseError('RESUBMISSION_NOT_FOUND', `no resubmission ${id}`)
  if (state !== 'RUNNING') throw new RepriseError('RESUBMISSION_FINISHED', `resubmission ${id} is ${state}`)
  wake.wake('events', `resubmission:${id}`)
  return { resubmissionId: id }
}
