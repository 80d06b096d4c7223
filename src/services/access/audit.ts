import { z } from 'zod'
import { FILTER_LIST_MAX, NAME_LENGTH_MAX } from '../../domain/limits.ts'
import {
  type AuditConditions,
  type AuditRow,
  countAudit,
  readAuditPage,
  recordAudit,
} from '../../store/sql/access/audit.sql.ts'
import { actorOf, assertMayAdminister, mayAdminister } from './authorize.ts'
import { assemblePage, invalidCursor, type Page, type PageArguments, pageSize } from '../paging.ts'
import { parseInput, withoutNulls } from '../input/parse-input.ts'
import type { ServiceContext, Viewer } from '../service-context.ts'
import { text } from '../input/input-fields.ts'
import type { ErrorCode } from '../../domain/errors.ts'
import { toStorableText } from '../../domain/storable-text.ts'
import type { Logger } from '../../observability/log.ts'
import type { Database } from '../../store/database.ts'

export type { AuditRow }

/** A filter of entries. All given conditions must hold; null counts as missing. */
interface AuditFilterInput {
  project?: string | null
  tokenId?: string | null
  userId?: string | null
  sessionId?: string | null
  requestId?: string | null
  actor?: string | null
  actorContains?: string | null
  action?: string[] | null
  actionContains?: string | null
  automatic?: boolean | null
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
  actorContains: text(NAME_LENGTH_MAX).optional(),
  action: z.array(text(NAME_LENGTH_MAX)).max(FILTER_LIST_MAX).optional(),
  actionContains: text(NAME_LENGTH_MAX).optional(),
  automatic: z.boolean().optional(),
  refused: z.boolean().optional(),
})

/**
 * Reads entries, newest first. Only for administrators; those of one project see its entries.
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

const ENTRY_ID = /^\d{1,18}$/

/** Reads the entries with these numbers that the viewer may see, in no particular order. */
export async function readAuditEntries(
  { db, viewer }: Pick<ServiceContext, 'db' | 'viewer'>,
  ids: readonly string[],
): Promise<AuditRow[]> {
  if (!mayAdminister(viewer)) return []
  const wanted = { visibleProjectId: viewer.projectId, ids: ids.filter((id) => ENTRY_ID.test(id)) }
  return readAuditPage(db, wanted, { olderThan: null, newerThan: null, backward: false, limit: ids.length })
}

/** Refusals of one kind within this time are one entry, so that a client in a loop does not fill the log. */
const QUIET_MS = 60_000
/** An upper bound of the kinds kept in memory; usually there are far fewer. */
const KINDS_MAX = 10_000
const MESSAGE_LENGTH_MAX = 300

interface Refusal {
  /** The mutation, or method and path. */
  operation: string
  code: ErrorCode
  message: string
}

/** Records refused changes in the audit log. */
export interface RefusalLog {
  /** Returns at once. An entry that cannot be written is only logged. */
  note(viewer: Viewer, refusal: Refusal): void
}

export function createRefusalLog(options: { db: Database; log: Logger; now?: () => number }): RefusalLog {
  const { db, log, now = () => performance.now() } = options
  const known = new Map<string, { until: number; unnoted: number }>()
  return {
    note(viewer, { operation, code, message }) {
      const kind = `${viewer.tokenId} ${operation} ${code}`
      const last = known.get(kind)
      if (last && last.until > now()) {
        last.unnoted++
        return
      }
      if (known.size >= KINDS_MAX) known.clear()
      known.set(kind, { until: now() + QUIET_MS, unnoted: 0 })
      // Number of refusals of the same kind since the last entry, for which no entry was written.
      const before = last?.unnoted ?? 0
      const details = { operation, code, message: toStorableText(message.slice(0, MESSAGE_LENGTH_MAX)), before }
      const entry = { actor: actorOf(viewer), action: 'refused', projectId: viewer.projectId, details }
      recordAudit(db, entry).catch((error) =>
        log.warn({ err: error }, 'a refusal could not be recorded in the audit log'),
      )
    },
  }
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
  const [kind, id = ''] = Buffer.from(cursor, 'base64url').toString().split(':')
  if (kind !== 'a' || !ENTRY_ID.test(id)) throw invalidCursor(name)
  return id
}
