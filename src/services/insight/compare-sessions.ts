import { specDifference, type SpecDifference } from '../../domain/chain/spec-difference.ts'
import { RepriseError } from '../../domain/errors.ts'
import { firstLogDifference, type LogDifference } from '../../domain/insight/log-difference.ts'
import { COMPARED_LOG_BYTES, COMPARED_LOG_PIECES_MAX } from '../../domain/limits.ts'
import { readKernelLogs } from '../../store/sql/agent/kernel-logs.sql.ts'
import { readComparedSessions, readLastSuccesses } from '../../store/sql/insight/compared-sessions.sql.ts'
import type { ServiceContext } from '../service-context.ts'
import { shownField } from '../session/session-fields.ts'

type Reader = Pick<ServiceContext, 'db' | 'viewer'>

/** What differs between two sessions. */
export interface SessionComparison {
  leftId: string
  rightId: string
  /** `before` is the left session's value, `after` the right one's. */
  differences: SpecDifference[]
  /** Null if their logs say the same. */
  logDifference: LogDifference | null
}

/**
 * Compares two sessions: their specifications, and the beginnings of what their first kernels wrote.
 *
 * @throws RepriseError SESSION_NOT_FOUND
 */
export async function compareSessions({ db, viewer }: Reader, left: string, right: string): Promise<SessionComparison> {
  const found = await readComparedSessions(db, [left, right], viewer.projectId)
  const [one, other] = [left, right].map((id) => {
    const row = found.get(id.toLowerCase())
    if (row === undefined) throw new RepriseError('SESSION_NOT_FOUND', `no session ${id}`)
    return row
  }) as [NonNullable<ReturnType<typeof found.get>>, NonNullable<ReturnType<typeof found.get>>]
  const [ours, theirs] = [await beginningOf(db, one.kernelId), await beginningOf(db, other.kernelId)]
  return {
    leftId: one.id,
    rightId: other.id,
    differences: specDifference(one.spec, other.spec).map(({ field, before, after }) => ({
      field,
      before: shownField(viewer, field, before),
      after: shownField(viewer, field, after),
    })),
    logDifference: firstLogDifference(ours, theirs),
  }
}

async function beginningOf(db: Reader['db'], kernelId: string | null): Promise<string> {
  if (kernelId === null) return ''
  const window = { after: '0', before: null, backward: false }
  const bounds = { piecesMax: COMPARED_LOG_PIECES_MAX, bytesMax: COMPARED_LOG_BYTES }
  return (await readKernelLogs(db, [kernelId], { ...window, ...bounds })).map(({ text }) => text).join('')
}

/**
 * Compares a session with another one; without `other`, with the last success of its name, or else with the attempt
 * before.
 *
 * @throws RepriseError SESSION_NOT_FOUND
 */
export async function compareSession(
  context: Reader,
  id: string,
  other: string | undefined,
): Promise<SessionComparison> {
  if (other !== undefined) return compareSessions(context, id, other)
  const left = (await readComparedSessions(context.db, [id], context.viewer.projectId)).get(id)
  if (left === undefined) throw new RepriseError('SESSION_NOT_FOUND', `no session ${id}`)
  const right = (await readLastSuccesses(context.db, [id])).get(id) ?? left.parentId
  if (right === null) {
    throw new RepriseError(
      'SESSION_NOT_FOUND',
      'no other session of its name has succeeded, and it has no attempt before',
    )
  }
  return compareSessions(context, id, right)
}

/**
 * Reads, for each session, the last other one of its name that has succeeded; null if there is none. The caller has
 * checked that the sessions are visible.
 */
export async function readLastSuccessOf(
  { db }: Pick<Reader, 'db'>,
  ids: readonly string[],
): Promise<(string | null)[]> {
  const found = await readLastSuccesses(db, ids)
  return ids.map((id) => found.get(id) ?? null)
}
