import { z } from 'zod'
import { RepriseError } from '../../domain/errors.ts'
import { FAILURE_GROUP_STATES, type FailureGroupState, findSimilar } from '../../domain/insight/failure-group.ts'
import {
  FAILURE_GROUPS_MERGED_MAX,
  FAILURE_PARTS_MAX,
  FAILURE_PLACES_MAX,
  FAILURE_SPAN_DEFAULT_MS,
  FILTERED_FAILURES_MAX,
  NAME_LENGTH_MAX,
  REASON_LENGTH_MAX,
  SIMILAR_CANDIDATES_MAX,
} from '../../domain/limits.ts'
import { isStorableMoment, isStorableText, STORABLE_MOMENT, STORABLE_TEXT } from '../../domain/storable-text.ts'
import { recordAudit } from '../../store/sql/access/audit.sql.ts'
import {
  FAILURE_GROUP_ORDERS,
  type FailureFigures,
  type FailureGroupOrder,
  type FailureGroupRow,
  type FailurePlaces,
  type FailureSpan,
  listFailureGroups,
  lockFailureGroups,
  mergeFailureGroups as merge,
  readFailureGroups as readRows,
  readFailurePlaces,
  readGroupsOfSessions,
  readMergeCandidates,
  readMergedGroups as readMerged,
  renameFailureGroup,
  setFailureGroup,
  splitFailureGroup as split,
} from '../../store/sql/insight/failure-groups.sql.ts'
import { type BreakerRow, closeBreakers, openBreaker, readOpenBreakers } from '../../store/sql/retry/breakers.sql.ts'
import { readNow } from '../../store/sql/server.sql.ts'
import { actorOf, assertMayChange } from '../access/authorize.ts'
import { argumentError, parseInput } from '../input/parse-input.ts'
import { type Page, pageSize } from '../paging.ts'
import type { ServiceContext } from '../service-context.ts'
import type { ReadContext } from '../session/read-sessions.ts'
import { isEmptyWhere, type SessionFilterInput, sessionWhere } from '../session/session-where.ts'

export { FAILURE_GROUP_ORDERS }
export type { BreakerRow, FailureFigures, FailureGroupRow, FailurePlaces, FailureSpan }

type Reader = Pick<ServiceContext, 'db' | 'viewer'>

export interface FailureGroupsInput {
  filter?: SessionFilterInput | null
  /** When they failed; the last 30 days if missing. */
  window?: { from?: Date | null; to?: Date | null } | null
  states?: readonly FailureGroupState[] | null
  orderBy?: FailureGroupOrder | null
  first?: number | null
  after?: string | null
}

/** A group with what its failures in a span come to. */
export interface ShownFailureGroup {
  group: FailureGroupRow
  span: FailureSpan
  /** Null if it has no failure in the span. */
  figures: FailureFigures | null
}

/**
 * Reads groups of failures with what their failures come to. A filter selects failures; at most FILTERED_FAILURES_MAX of
 * them, the newest, are counted.
 *
 * @throws RepriseError VALIDATION_FAILED
 */
export async function readFailureGroupPage(
  context: ReadContext,
  { filter, window, states = null, orderBy, first = null, after }: FailureGroupsInput,
): Promise<Page<ShownFailureGroup>> {
  const { size } = pageSize({ first })
  const offset = after == null ? 0 : offsetOf(after)
  const span = await spanOf(context, window ?? {})
  const sessionIds = await matchingSessions(context, filter, span)
  const page = { order: orderBy ?? 'ATTEMPTS', states, limit: size + 1, offset }
  const found = await listFailureGroups(context.db, { ...span, sessionIds }, page)
  const shown = found.slice(0, size)
  const groups = await readRows(
    context.db,
    shown.map(({ groupId }) => groupId),
    context.viewer.projectId,
  )
  const edges = shown.flatMap((figures, at) => {
    const group = groups.get(figures.groupId)
    const node = group && { group, span: { ...span, sessionIds }, figures }
    return node === undefined ? [] : [{ cursor: String(offset + at + 1), node }]
  })
  return {
    edges,
    pageInfo: {
      hasNextPage: found.length > size,
      hasPreviousPage: offset > 0,
      startCursor: edges.at(0)?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
    totalCount: async () => found.at(0)?.total ?? 0,
    totalCountIsExact: async () => true,
  }
}

/** @throws RepriseError VALIDATION_FAILED */
function offsetOf(cursor: string): number {
  if (/^\d{1,6}$/.test(cursor)) return Number(cursor)
  throw argumentError('after', 'Is no cursor of this list.')
}

/** @throws RepriseError VALIDATION_FAILED */
export async function spanOf(
  { db, viewer }: Reader,
  { from, to }: { from?: Date | null; to?: Date | null },
): Promise<FailureSpan> {
  const end = to ?? new Date((await readNow(db)).getTime() + 1)
  const begin = from ?? new Date(end.getTime() - FAILURE_SPAN_DEFAULT_MS)
  if (![begin, end].every(isStorableMoment)) throw argumentError('window', STORABLE_MOMENT)
  if (begin >= end) throw argumentError('window', '`from` must be before `to`')
  return { visibleProjectId: viewer.projectId, from: begin, to: end, sessionIds: null }
}

async function matchingSessions(
  { prisma, viewer }: ReadContext,
  filter: SessionFilterInput | null | undefined,
  { from, to }: FailureSpan,
): Promise<string[] | null> {
  const wanted = sessionWhere(filter)
  if (isEmptyWhere(wanted)) return null
  const own = viewer.projectId === null ? {} : { projectId: viewer.projectId }
  const rows = await prisma.failure.findMany({
    where: { ...own, failedAt: { gte: from, lt: to }, session: wanted },
    select: { sessionId: true },
    orderBy: { failedAt: 'desc' },
    take: FILTERED_FAILURES_MAX,
  })
  return rows.map(({ sessionId }) => sessionId)
}

/** Reads groups that the viewer sees; others are missing. */
export function readFailureGroups(
  { db, viewer }: Reader,
  ids: readonly string[],
): Promise<Map<string, FailureGroupRow>> {
  return readRows(db, ids, viewer.projectId)
}

/** Reads, by session, the group that shows its failure. The caller has checked that the viewer sees the sessions. */
export async function readGroupsOfFailed(
  context: Reader,
  sessionIds: readonly string[],
): Promise<Map<string, FailureGroupRow>> {
  const groupOf = await readGroupsOfSessions(context.db, sessionIds)
  const groups = await readFailureGroups(context, [...new Set(groupOf.values())])
  return new Map([...groupOf].flatMap(([sessionId, id]) => (groups.has(id) ? [[sessionId, groups.get(id)!]] : [])))
}

/** What the failures of groups in one span come to, by group. */
export async function readFigures(
  { db }: Pick<Reader, 'db'>,
  span: FailureSpan,
  groupIds: readonly string[],
): Promise<Map<string, FailureFigures>> {
  const page = { order: 'ATTEMPTS', states: null, groupIds, limit: groupIds.length, offset: 0 } as const
  const figures = await listFailureGroups(db, span, page)
  return new Map(figures.map((row) => [row.groupId, row]))
}

/** Where the failures of groups in one span happened, by group. */
export function readPlaces(
  { db }: Pick<Reader, 'db'>,
  span: FailureSpan,
  groupIds: readonly string[],
): Promise<Map<string, FailurePlaces>> {
  return readFailurePlaces(db, span, { groupIds, most: FAILURE_PLACES_MAX, parts: FAILURE_PARTS_MAX })
}

/** Reads, by group, the groups that are merged into it. */
export async function readMergedGroups(
  { db }: Pick<Reader, 'db'>,
  ids: readonly string[],
): Promise<Map<string, FailureGroupRow[]>> {
  return Map.groupBy(await readMerged(db, ids), ({ mergedInto }) => mergedInto!)
}

export interface SimilarFailureGroup {
  group: FailureGroupRow
  similarity: number
}

/**
 * Finds, for each of these groups, other groups of its project that are similar enough to be merged with it. Only those
 * that occurred last are considered. A merged group has none.
 */
export async function findSimilarGroups(
  context: Reader,
  groups: readonly FailureGroupRow[],
): Promise<SimilarFailureGroup[][]> {
  const shown = groups.filter(({ mergedInto, masked }) => mergedInto === null && masked.length > 0)
  const projectIds = [...new Set(shown.map(({ projectId }) => projectId))]
  if (projectIds.length === 0) return groups.map(() => [])
  const candidates = await readMergeCandidates(context.db, projectIds, SIMILAR_CANDIDATES_MAX)
  const ofProject = Map.groupBy(candidates, ({ projectId }) => projectId)
  const found = new Map(shown.map((group) => [group.id, findSimilar(group, ofProject.get(group.projectId) ?? [])]))
  const rows = await readFailureGroups(context, [...new Set([...found.values()].flat().map(({ id }) => id))])
  return groups.map(({ id }) =>
    (found.get(id) ?? []).flatMap((similar) => {
      const group = rows.get(similar.id)
      return group === undefined ? [] : [{ group, similarity: similar.similarity }]
    }),
  )
}

function failureGroupNotFound(id: string): RepriseError {
  return new RepriseError('FAILURE_GROUP_NOT_FOUND', `no group of failures ${id}`)
}

const words = (max: number) => z.string().trim().max(max).refine(isStorableText, STORABLE_TEXT)
const link = z.url({ protocol: /^https?$/ }).max(REASON_LENGTH_MAX)
const stateSchema = z.object({
  state: z.enum(FAILURE_GROUP_STATES),
  note: words(REASON_LENGTH_MAX).nullish(),
  link: link.nullish(),
  mutedUntil: z.date().refine(isStorableMoment, STORABLE_MOMENT).nullish(),
})

export interface FailureGroupStateInput {
  failureGroupId: string
  state: FailureGroupState
  note?: string | null
  link?: string | null
  mutedUntil?: Date | null
}

/**
 * Says what people know about a group of failures.
 *
 * @throws RepriseError FAILURE_GROUP_NOT_FOUND, FORBIDDEN, VALIDATION_FAILED
 */
export async function setFailureGroupState(
  context: ServiceContext,
  { failureGroupId, ...input }: FailureGroupStateInput,
): Promise<FailureGroupRow> {
  const { state, note = null, link: to = null, mutedUntil = null } = parseInput(stateSchema, input)
  if (mutedUntil !== null && state !== 'MUTED') throw argumentError('mutedUntil', 'Only for the state MUTED.')
  return change(context, failureGroupId, 'failure_group.state', { state }, (tx) =>
    setFailureGroup(tx, failureGroupId, { state, note: note || null, link: to, mutedUntil, by: context.viewer.name }),
  )
}

/**
 * Gives a group of failures a name, or with an empty one its own title again.
 *
 * @throws RepriseError FAILURE_GROUP_NOT_FOUND, FORBIDDEN, VALIDATION_FAILED
 */
export async function nameFailureGroup(
  context: ServiceContext,
  { failureGroupId, name }: { failureGroupId: string; name?: string | null },
): Promise<FailureGroupRow> {
  const given = parseInput(z.object({ name: words(NAME_LENGTH_MAX).nullish() }), { name }).name || null
  return change(context, failureGroupId, 'failure_group.name', { name: given }, (tx) =>
    renameFailureGroup(tx, failureGroupId, given),
  )
}

/**
 * Holds the retries of a group of failures, but for single probes at growing intervals, or releases them gradually. A
 * probe that succeeds releases them, too. Does nothing where this is already so.
 *
 * @throws RepriseError FAILURE_GROUP_NOT_FOUND, FORBIDDEN, VALIDATION_FAILED (it shows no failures of its own)
 */
export async function setRetryBreaker(
  context: ServiceContext,
  { failureGroupId, open }: { failureGroupId: string; open: boolean },
): Promise<FailureGroupRow> {
  const action = open ? 'retry.open_breaker' : 'retry.close_breaker'
  const group = await change(context, failureGroupId, action, {}, async (tx, { id, mergedInto, isOverflow }) => {
    if (open && mergedInto !== null) throw argumentError('failureGroupId', 'Is merged into another group.')
    if (open && isOverflow) throw argumentError('failureGroupId', 'Its failures have nothing in common.')
    await (open ? openBreaker(tx, id, context.viewer.name) : closeBreakers(tx, [id]))
  })
  context.wake.wake('dispatch-retries')
  return group
}

/** The open breakers of groups that the viewer sees. */
export function readBreakers(
  { db }: Pick<Reader, 'db'>,
  groupIds: readonly string[],
): Promise<Map<string, BreakerRow>> {
  return readOpenBreakers(db, groupIds)
}

/**
 * Shows the failures of groups with those of another one, also those that come. Undone by `splitFailureGroup`.
 *
 * @throws RepriseError FAILURE_GROUP_NOT_FOUND, FORBIDDEN, VALIDATION_FAILED
 */
export async function mergeFailureGroups(
  context: ServiceContext,
  { failureGroupIds, into }: { failureGroupIds: readonly string[]; into: string },
): Promise<FailureGroupRow> {
  const ids = [...new Set(failureGroupIds.map((id) => id.toLowerCase()))].filter((id) => id !== into.toLowerCase())
  if (ids.length === 0 || ids.length > FAILURE_GROUPS_MERGED_MAX)
    throw argumentError('failureGroupIds', `Must be 1 to ${FAILURE_GROUPS_MERGED_MAX} other groups.`)
  return change(context, into, 'failure_group.merge', { failureGroupIds: ids }, async (tx, target) => {
    const groups = await lockFailureGroups(tx, ids, context.viewer.projectId)
    const missing = ids.find((id) => groups.get(id)?.projectId !== target.projectId)
    if (missing !== undefined) throw failureGroupNotFound(missing)
    if (target.mergedInto !== null) throw argumentError('into', 'Is merged into another group itself.')
    // Afterwards, the retries that they hold would not be found.
    await closeBreakers(tx, ids)
    await merge(tx, ids, target.id)
  })
}

/**
 * Shows the failures of a merged group apart again.
 *
 * @throws RepriseError FAILURE_GROUP_NOT_FOUND, FORBIDDEN, VALIDATION_FAILED (it is not merged)
 */
export async function splitFailureGroup(
  context: ServiceContext,
  { failureGroupId }: { failureGroupId: string },
): Promise<FailureGroupRow> {
  return change(context, failureGroupId, 'failure_group.split', {}, async (tx) => {
    if (!(await split(tx, failureGroupId))) throw argumentError('failureGroupId', 'Is not merged into another group.')
  })
}

type Transaction = Parameters<typeof setFailureGroup>[0]

async function change(
  context: ServiceContext,
  id: string,
  action: string,
  details: object,
  work: (tx: Transaction, group: FailureGroupRow) => Promise<void>,
): Promise<FailureGroupRow> {
  const { db, viewer } = context
  assertMayChange(viewer)
  return db.transaction(async (tx) => {
    const group = (await lockFailureGroups(tx, [id], viewer.projectId)).get(id.toLowerCase())
    if (group === undefined) throw failureGroupNotFound(id)
    await work(tx, group)
    const all = { failureGroupId: group.id, title: group.name ?? group.title, ...details }
    await recordAudit(tx, { actor: actorOf(viewer), action, projectId: group.projectId, details: all })
    return (await readRows(tx, [group.id], null)).get(group.id)!
  })
}
