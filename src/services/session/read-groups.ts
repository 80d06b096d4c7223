import { validate } from 'uuid'
import { RepriseError } from '../../domain/errors.ts'
import { COUNTED_ROWS_MAX, GROUP_KEY_LENGTH_MAX } from '../../domain/limits.ts'
import { formatIndexes } from '../../domain/session/session-group.ts'
import {
  countGroupFailures,
  findMembers,
  listMembers,
  type GroupFailureRow,
  MEMBER_STATE_NAMES,
  type MemberRangeRow,
  type MemberRow,
  type MemberState,
  readGroupStarts,
  readMemberRanges as readRanges,
  readMemberStates as readStates,
} from '../../store/sql/session/group-members.sql.ts'
import {
  countGroups,
  countRunning,
  type GroupRow,
  listGroups,
  readGroupByKey,
  readEndedGroups as readEnded,
  readGroups as readRows,
} from '../../store/sql/session/session-groups.sql.ts'
import { type DependencyRow, readDependencies } from '../../store/sql/session/group-dependencies.sql.ts'
import { mayBeName } from '../input/input-fields.ts'
import { decodeKeyset, encodeKeyset, invalidCursor, type OrderColumn, type Page, pageSize } from '../paging.ts'
import type { ServiceContext } from '../service-context.ts'
import type { ReadContext } from './read-sessions.ts'

type Reader = Pick<ServiceContext, 'db' | 'viewer'>

/** Counts the members of groups that run. */
export async function countRunningMembers({ db }: Pick<Reader, 'db'>, groups: readonly GroupRow[]): Promise<number[]> {
  const running = await countRunning(
    db,
    groups.filter(({ counts }) => counts.live > 0),
  )
  return groups.map(({ id, counts }) => Math.min(counts.live, running.get(id) ?? 0))
}

/** Reads groups that the viewer sees; others are missing. */
export function readGroups({ db, viewer }: Reader, ids: readonly string[]): Promise<Map<string, GroupRow>> {
  return readRows(
    db,
    ids.filter((id) => validate(id)),
    viewer.projectId,
  )
}

/** Part of the members of a group: a letter for each, as in MEMBER_STATES, in the order of their indexes. */
export interface MemberStatesPage {
  states: string
  /** `1-1000,2000` */
  indexes: string
  lastIndex: number | null
  hasNextPage: boolean
}

/** Reads the states of the first members after an index, of groups that the viewer sees. */
export async function readMemberStates(
  { db }: Pick<Reader, 'db'>,
  groupIds: readonly string[],
  { after, limit }: { after: number; limit: number },
): Promise<Map<string, MemberStatesPage>> {
  const found = await readStates(db, groupIds, { after, limit: limit + 1 })
  return new Map(
    [...found].map(([id, { states, indexes: all }]) => {
      const indexes = all.slice(0, limit)
      const hasNextPage = all.length > limit
      const lastIndex = indexes.at(-1) ?? null
      return [id, { states: states.slice(0, limit), indexes: formatIndexes(indexes), lastIndex, hasNextPage }]
    }),
  )
}

/** Cuts the members of groups that the viewer sees into ranges of this size, and counts their states. */
export function readMemberRanges(
  { db }: Pick<Reader, 'db'>,
  groups: readonly GroupRow[],
  size: number,
): Promise<MemberRangeRow[]> {
  return readRanges(db, groups, size)
}

/** Counts the failed members of groups that the viewer sees by cause. */
export function readGroupFailures({ db }: Pick<Reader, 'db'>, groupIds: readonly string[]): Promise<GroupFailureRow[]> {
  return countGroupFailures(db, groupIds)
}

/** Finds the chains of members of groups that the viewer sees; undefined for an index without a member. */
export async function findGroupMembers(
  { db }: Pick<Reader, 'db'>,
  members: readonly { groupId: string; index: number }[],
): Promise<(string | undefined)[]> {
  const found = new Map((await findMembers(db, members)).map((row) => [`${row.groupId} ${row.index}`, row.chainId]))
  return members.map(({ groupId, index }) => found.get(`${groupId} ${index}`))
}

/** Returns when the first members of groups started; null if they have not. */
export async function readStarts({ db }: Pick<Reader, 'db'>, groupIds: readonly string[]): Promise<(Date | null)[]> {
  const found = await readGroupStarts(db, groupIds)
  return groupIds.map((id) => found.get(id) ?? null)
}

export type { DependencyRow }

/** Reads, by group, what groups wait for. The caller has checked that the viewer sees them. */
export async function readGroupDependencies(
  { db }: Pick<ServiceContext, 'db'>,
  groupIds: readonly string[],
): Promise<Map<string, DependencyRow[]>> {
  return Map.groupBy(await readDependencies(db, groupIds), ({ dependent }) => dependent)
}

/** @throws RepriseError GROUP_NOT_FOUND */
export async function requireGroup(context: Reader, id: string): Promise<GroupRow> {
  const found = (await readGroups(context, [id])).get(id.toLowerCase())
  if (found === undefined) throw groupNotFound(id)
  return found
}

export function groupNotFound(id: string): RepriseError {
  return new RepriseError('GROUP_NOT_FOUND', `no group ${id}`)
}

/** Finds a group by its key; null if there is none that the viewer sees. */
export async function findGroup(
  { db, viewer }: Reader,
  { key, project }: { key: string; project: string },
): Promise<GroupRow | null> {
  if (!mayBeName(project) || key.length > GROUP_KEY_LENGTH_MAX) return null
  const row = await readGroupByKey(db, key, { project, visibleProjectId: viewer.projectId })
  return row ?? null
}

const NEWEST: OrderColumn[] = [
  { column: 'createdAt', direction: 'desc', type: 'date' },
  { column: 'id', direction: 'desc', type: 'uuid' },
]

export type { GroupFailureRow, GroupRow, MemberRangeRow }

export interface GroupFilter {
  project?: string | null
  search?: string | null
  ended?: boolean | null
}

/** Reads a page of groups, newest first, forward only. @throws RepriseError VALIDATION_FAILED */
export async function readGroupPage(
  { db, viewer }: Reader,
  filter: GroupFilter,
  args: { first?: number | null; after?: string | null },
): Promise<Page<GroupRow>> {
  const { size } = pageSize({ first: args.first ?? null })
  const after = args.after == null ? null : decodeKeyset(NEWEST, args.after)
  if (after === undefined) throw invalidCursor('after')
  const conditions = {
    visibleProjectId: viewer.projectId,
    project: filter.project ?? null,
    search: filter.search ?? null,
    ended: filter.ended ?? null,
  }
  const position = after === null ? null : { createdAt: (after[0] as Date).toISOString(), id: after[1] as string }
  const rows = await listGroups(db, conditions, { after: position, limit: size + 1 })
  const edges = rows.slice(0, size).map((node) => ({ cursor: encodeKeyset(NEWEST, node), node }))
  let counted: Promise<number> | undefined
  const count = () => (counted ??= countGroups(db, conditions, COUNTED_ROWS_MAX + 1))
  return {
    edges,
    pageInfo: {
      hasNextPage: rows.length > size,
      hasPreviousPage: args.after != null,
      startCursor: edges.at(0)?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
    totalCount: async () => Math.min(COUNTED_ROWS_MAX, await count()),
    totalCountIsExact: async () => (await count()) <= COUNTED_ROWS_MAX,
  }
}

/** A group with what its row has not. */
export interface GroupRecord {
  group: GroupRow
  /** The name of its project. */
  project: string
  /** Number of members that run. */
  running: number
  dependsOn: DependencyRow[]
}

/** Completes groups that the viewer sees, with three statements for all of them. */
export async function describeGroups(
  { db, prisma }: Pick<ReadContext, 'db' | 'prisma'>,
  groups: readonly GroupRow[],
): Promise<GroupRecord[]> {
  const projectIds = [...new Set(groups.map(({ projectId }) => projectId))]
  const [running, dependencies, projects] = await Promise.all([
    countRunningMembers({ db }, groups),
    readGroupDependencies(
      { db },
      groups.map(({ id }) => id),
    ),
    prisma.project.findMany({ where: { id: { in: projectIds } }, select: { id: true, name: true } }),
  ])
  const names = new Map(projects.map(({ id, name }) => [id, name]))
  return groups.map((group, at) => ({
    group,
    project: names.get(group.projectId)!,
    running: running[at]!,
    dependsOn: dependencies.get(group.id) ?? [],
  }))
}

/** @throws RepriseError GROUP_NOT_FOUND */
export async function describeGroup(context: ReadContext, id: string): Promise<GroupRecord> {
  const [record] = await describeGroups(context, [await requireGroup(context, id)])
  return record!
}

export { MEMBER_STATE_NAMES }
export type { MemberRow, MemberState }

/** Reads a page of the members of a group, in the order of their indexes. @throws RepriseError GROUP_NOT_FOUND */
export async function readMemberPage(
  context: Reader,
  groupId: string,
  { states, after, limit }: { states: readonly MemberState[] | null; after: number | null; limit: number },
): Promise<{ members: MemberRow[]; next: number | null }> {
  const group = await requireGroup(context, groupId)
  const page = { states: states ?? MEMBER_STATE_NAMES, after: after ?? -1, limit: limit + 1 }
  const rows = await listMembers(context.db, group, page)
  const members = rows.slice(0, limit)
  return { members, next: rows.length > limit ? members.at(-1)!.index : null }
}

/** Reads which of these groups have ended. The caller has checked that the viewers may see them. */
export async function readEndedGroups(
  { db }: Pick<Reader, 'db'>,
  groupIds: readonly string[],
): Promise<Map<string, true>> {
  return new Map((await readEnded(db, groupIds)).map((id) => [id, true]))
}
