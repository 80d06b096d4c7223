import { RepriseError } from '../../domain/errors.ts'
import type { SessionAction } from '../../domain/session/session-action.ts'
import type { Prisma } from '../../store/prisma.ts'
import { itemList } from '../../store/sql/resubmission/read-resubmission.sql.ts'
import { projectScope } from '../access/tenant-scope.ts'
import { keysetPage, type Page } from '../paging/keyset.ts'
import { NEWEST_FIRST } from '../paging/orders.ts'
import { pageSize, type PageArguments } from '../paging/page-arguments.ts'
import { parseSerialCursor } from '../paging/serial-cursor.ts'
import { serialPageOf } from '../paging/serial-page-of.ts'
import { shownOverrides } from '../session/shown-environ.ts'
import type { ReadContext } from '../session/read-sessions.ts'
import {
  countResubmissionItems,
  readRefusalCounts,
  readResubmissionItems,
  type RefusalCount,
  type ResubmissionItemRow,
  type ResubmissionItemStatus,
} from './read-resubmission.ts'

/** Complete resubmissions, for REST; GraphQL reads only what its query selects. */
export interface ResubmissionRecord extends Prisma.ResubmissionGetPayload<object> {
  /** As the viewer may read them. */
  shownOverrides: object
  /** Why sessions were refused so far, the most frequent reason first. */
  refusals: RefusalCount[]
}

/** @throws RepriseError RESUBMISSION_NOT_FOUND */
export async function readResubmission(context: ReadContext, id: string): Promise<ResubmissionRecord> {
  const found = await context.prisma.resubmission.findFirst({ where: { id, ...projectScope(context.viewer) } })
  if (!found) throw new RepriseError('RESUBMISSION_NOT_FOUND', `no resubmission ${id}`)
  return (await withRefusals(context, [found]))[0]!
}

/** Newest first. @throws RepriseError VALIDATION_FAILED */
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

/** Its sessions, in the order in which they were named. @throws RepriseError RESUBMISSION_NOT_FOUND, VALIDATION_FAILED */
export async function readItemPage(
  context: ReadContext,
  { id, status, page: args }: { id: string; status: ResubmissionItemStatus | null; page: PageArguments },
): Promise<Page<ResubmissionItemRow>> {
  await readResubmission(context, id)
  const { size } = pageSize(args)
  const list = itemList(id, status)
  const after = parseSerialCursor(args.after)
  const rows = await readResubmissionItems(context, { lists: [list], after, limit: size + 1 })
  const count = async () => (await countResubmissionItems(context, [list])).get(list) ?? 0
  return serialPageOf(rows, { size, after: args.after, count })
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
