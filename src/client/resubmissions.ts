import { v7 as uuidv7 } from 'uuid'
import { NotFoundError } from './api-errors.ts'
import type { CallOptions, Connection } from './connection.ts'
import {
  AbortResubmissionDocument,
  ResubmissionDocument,
  ResubmissionItemsDocument,
  ResubmissionsDocument,
  ResubmitSessionsDocument,
  type ResubmissionItemStatus,
  type ResubmissionSummaryFragment,
  type ResubmitSessionsInput,
} from './operations.generated.ts'
import { allPages } from './pages.ts'
import { payloadOf } from './payload.ts'
import { pause } from './retry/pause.ts'

const POLL_SECONDS = 1

export function resubmissionOperations(connection: Connection) {
  const { request } = connection

  async function resubmission(id: string, options?: CallOptions): Promise<ResubmissionSummaryFragment> {
    return (await request(ResubmissionDocument, { id }, options)).resubmission ?? gone(id)
  }

  return {
    /**
     * Resubmits failed sessions exactly once: a `clientKey` is made if none is given. Large resubmissions run in the
     * background; `waitForResubmission` waits for them.
     * @throws ValidationError, ConflictError, ForbiddenError
     */
    async resubmitSessions(input: ResubmitSessionsInput, options?: CallOptions) {
      const keyed = { ...input, clientKey: input.clientKey ?? uuidv7() }
      const data = await request(ResubmitSessionsDocument, { input: keyed }, { ...options, idempotent: true })
      const { resubmission: made, sessions, refused } = payloadOf(data.resubmitSessions)
      return { resubmission: made, sessions, refused }
    },

    /** @throws NotFoundError */
    resubmission,

    /** Newest first, page after page. */
    resubmissions(options?: CallOptions) {
      return allPages(async (page) => (await request(ResubmissionsDocument, page, options)).resubmissions)
    },

    /** The outcome of each session of a resubmission. @throws NotFoundError */
    resubmissionItems(id: string, filter: { status?: ResubmissionItemStatus } = {}, options?: CallOptions) {
      return allPages(async (page) => {
        const data = await request(ResubmissionItemsDocument, { id, ...filter, ...page }, options)
        return (data.resubmission ?? gone(id)).items
      })
    },

    /** Waits until it is completed or aborted. @throws NotFoundError, the signal's reason */
    async waitForResubmission(
      id: string,
      options: CallOptions & { onResubmission?: (now: ResubmissionSummaryFragment) => void } = {},
    ): Promise<ResubmissionSummaryFragment> {
      for (;;) {
        const now = await resubmission(id, options)
        options.onResubmission?.(now)
        if (now.state !== 'RUNNING') return now
        await pause(POLL_SECONDS, options.signal)
      }
    },

    /** Aborts a resubmission. @throws NotFoundError, InvalidStateError, ForbiddenError */
    async abortResubmission(resubmissionId: string, options?: CallOptions) {
      const data = await request(AbortResubmissionDocument, { input: { resubmissionId } }, options)
      return payloadOf(data.abortResubmission).resubmission
    },
  }
}

function gone(id: string): never {
  throw new NotFoundError('RESUBMISSION_NOT_FOUND', `There is no resubmission ${id}.`)
}
