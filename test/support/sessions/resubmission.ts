import { NO_SYNC_POINTS, type SyncPoints } from '../../../src/observability/sync-points.ts'
import type { Queryable } from '../../../src/store/database.ts'
import type { ResubmitSessionsInput } from '../../../src/services/resubmission/resubmission-input.ts'
import { type ShownResubmission, showResubmission } from '../../../src/services/resubmission/resubmissions.ts'
import { resubmitSessions } from '../../../src/services/resubmission/resubmit-sessions.ts'
import type { Viewer } from '../../../src/services/service-context.ts'
import type { SchedulingFixture } from './scheduling-fixture.ts'
import type { TestServer } from '../servers/test-server.ts'

export interface ResubmitOptions {
  server?: TestServer
  viewer?: Partial<Viewer>
  sync?: SyncPoints
}

/** Resubmits as a client would, and returns the result of the call. */
export type Resubmit = (input: ResubmitSessionsInput, options?: ResubmitOptions) => Promise<ShownResubmission>

/** For the calling test file, on its scheduling fixture's database. */
export function useResubmission(given: SchedulingFixture): Resubmit {
  return async (input, options = {}) => {
    const { server = given.server, viewer = {}, sync = NO_SYNC_POINTS } = options
    const { prisma } = given.database
    const context = { ...server.context, viewer: { ...server.context.viewer, ...viewer }, prisma, sync }
    const answer = await resubmitSessions(context, input)
    if ('dryRun' in answer) throw new Error('a dry run shows nothing')
    return showResubmission(context, answer.resubmissionId)
  }
}

export interface ResubmissionRow {
  state: string
  total: number
  done: number
  refused: number
  actor: string
  abortedBy: string | null
  finished: boolean
}

export async function resubmissionRow(db: Queryable, id: string): Promise<ResubmissionRow> {
  const statement = `SELECT state, total, done, refused, actor, aborted_by AS "abortedBy", finished_at IS NOT NULL AS finished
    FROM resubmissions WHERE id = $1`
  return (await db.query<ResubmissionRow & { [column: string]: unknown }>(statement, [id])).rows[0]!
}

/** `<code> <session>` of each refused session. */
export function refusals(shown: ShownResubmission): string[] {
  return shown.refused.map(({ code, sessionId }) => `${code} ${sessionId}`)
}
