import { z } from 'zod'
import { FILTER_LIST_MAX, NAME_LENGTH_MAX } from '../../domain/limits.ts'
import {
  countAudit,
  readAuditPage,
  type AuditConditions,
  type AuditRow,
} from '../../store/sql/access/read-audit.sql.ts'
import { assertMayAdminister } from './authorize.ts'
import { assemblePage, type Page } from '../paging/keyset.ts'
import { invalidCursor, pageSize, type PageArguments } from '../paging/page-arguments.ts'
import { parseInput } from '../input/parse-input.ts'
import type { ServiceContext } from '../service-context.ts'
import { text } from '../input/text-input.ts'
import { withoutNulls } from '../input/without-nulls.ts'

export type { AuditRow }

/** Which entries. All given conditions must hold; null counts as missing. */
export interface AuditFilterInput {
  project?: string | null
  tokenId?: string | null
  userId?: string | null
  sessionId?: string | null
  requestId?: string | null
  actor?: string | null
  action?: string[] | null
  refused?: boolean | null
  at?: { gt?: Date | null; gte?: Date | null; lt?: Date | null; lte?: Date | null } | null
}

const MILLISECOND = 1
const filterSchema = z.object({
  project: text(NAME_LENGTH_MAX).optional(),
  tokenId: z.uuid().optional(),
  userId: z.uuid().optional(),
  sessionId: z.uuid().optional(),
  requestId: text(NAME_LENGTH_MAX).optional(),
  actor: text(NAME_LENGTH_MAX).optional(),
  action: z.array(text(NAME_LENGTH_MAX)).max(FILTER_LIST_MAX).optional(),
  refused: z.boolean().optional(),
})

/**
 * Newest first. For administrators; those of one project see its entries.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED
 */
export async function readAudit(
  { db, viewer }: Pick<ServiceContext, 'db' | 'viewer'>,
  options: { filter: AuditFilterInput; page: PageArguments },
): Promise<Page<AuditRow>> {
  assertMayAdminister(viewer, 'PROJECT')
  const { at, ...given } = options.filter
  const { action, ...conditions } = parseInput(filterSchema, withoutNulls(given))
  const wanted: AuditConditions = {
    ...conditions,
    ...between(at ?? {}),
    actions: action,
    visibleProjectId: viewer.projectId,
  }
  const { after, before } = options.page
  const { size, backward } = pageSize(options.page)
  const bounds = { olderThan: idOf('after', after), newerThan: idOf('before', before) }
  const rows = await readAuditPage(db, wanted, { ...bounds, backward, limit: size + 1 })
  return assemblePage({ args: options.page, rows, cursorOf, count: () => countAudit(db, wanted) })
}

/** The database keeps milliseconds. */
function between({ gt, gte, lt, lte }: NonNullable<AuditFilterInput['at']>): Pick<AuditConditions, 'from' | 'before'> {
  const next = (time: Date | null | undefined) => time && new Date(time.getTime() + MILLISECOND)
  const froms = [gte, next(gt)].filter((time) => time != null)
  const befores = [lt, next(lte)].filter((time) => time != null)
  return {
    from: froms.length === 0 ? undefined : new Date(Math.max(...froms.map(Number))),
    before: befores.length === 0 ? undefined : new Date(Math.min(...befores.map(Number))),
  }
}

function cursorOf({ id }: AuditRow): string {
  return Buffer.from(`a:${id}`).toString('base64url')
}

function idOf(name: 'after' | 'before', cursor: string | null | undefined): string | null {
  if (cursor == null) return null
  const match = /^a:(\d{1,18})$/.exec(Buffer.from(cursor, 'base64url').toString())
  if (!match) throw invalidCursor(name)
  return match[1]!
}
