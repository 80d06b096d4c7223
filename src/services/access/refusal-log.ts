import type { ErrorCode } from '../../domain/errors.ts'
import { toStorableText } from '../../domain/storable-text.ts'
import type { Logger } from '../../observability/log.ts'
import type { Database } from '../../store/database.ts'
import { recordAudit } from '../../store/sql/access/record-audit.sql.ts'
import { actorOf } from './actor.ts'
import type { Viewer } from '../service-context.ts'

/** Refusals of one kind within this time are one entry: a client in a loop does not fill the log. */
const QUIET_MS = 60_000
/** Kinds remembered: an upper bound, not a working set. */
const KINDS_MAX = 10_000
const MESSAGE_LENGTH_MAX = 300

export interface Refusal {
  /** The mutation, or method and path. */
  operation: string
  code: ErrorCode
  message: string
}

/** Writes down which changes were refused to whom. */
export interface RefusalLog {
  /** Returns at once; what cannot be written is logged. */
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
      // Those of the same kind that had no entry of their own.
      const before = last?.unnoted ?? 0
      const details = { operation, code, message: toStorableText(message.slice(0, MESSAGE_LENGTH_MAX)), before }
      const entry = { actor: actorOf(viewer), action: 'refused', projectId: viewer.projectId, details }
      recordAudit(db, entry).catch((error) => log.warn({ err: error }, 'a refusal could not be written down'))
    },
  }
}
