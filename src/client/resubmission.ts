import { v7 as uuidv7 } from 'uuid'
import { NotFoundError } from './errors.ts'
import type { CallOptions, Connection, RequestOptions } from './connection/connection.ts'
import {
  AbortResubmissionDocument,
  CancelRetriesDocument,
  ResubmissionDocument,
  ResubmissionItemsDocument,
  ResubmissionRefusalsDocument,
  ResubmissionsDocument,
  type ResubmissionSummaryFragment,
  ResubmitSessionsDocument,
  RetryNowManyDocument,
  TerminateSessionsDocument,
} from './operations.generated.ts'
import type {
  CancelRetriesInput,
  ResubmissionItemStatus,
  ResubmitSessionsInput,
  RetryNowManyInput,
  SessionAction,
  TerminateSessionsInput,
} from './schema-types.generated.ts'
import { allPages, payloadOf } from './answers.ts'
import { pause } from './transport/retry-schedule.ts'

const POLL_SECONDS = 1

type Wanted<Input> = Omit<Input, 'dryRun'>
type BulkInput = ResubmitSessionsInput & TerminateSessionsInput & CancelRetriesInput & RetryNowManyInput
type Request = Connection['request']

const MANY = {
  RESUBMIT: async (request: Request, input: ResubmitSessionsInput, options: RequestOptions = {}) =>
    payloadOf((await request(ResubmitSessionsDocument, { input }, options)).resubmitSessions),
  TERMINATE: async (request: Request, input: TerminateSessionsInput, options: RequestOptions = {}) =>
    payloadOf((await request(TerminateSessionsDocument, { input }, options)).terminateSessions),
  CANCEL_RETRY: async (request: Request, input: CancelRetriesInput, options: RequestOptions = {}) =>
    payloadOf((await request(CancelRetriesDocument, { input }, options)).cancelRetries),
  RETRY_NOW: async (request: Request, input: RetryNowManyInput, options: RequestOptions = {}) =>
    payloadOf((await request(RetryNowManyDocument, { input }, options)).retryNowMany),
} satisfies Record<SessionAction, unknown>

export function resubmissionOperations(connection: Connection) {
  const { request } = connection

  async function resubmission(id: string, options?: CallOptions): Promise<ResubmissionSummaryFragment> {
    return (await request(ResubmissionDocument, { id }, options)).resubmission ?? gone(id)
  }

  /**
   * Starts an action on many sessions. A missing `clientKey` is generated, so that the action is done once even if the
   * request is sent several times.
   */
  async function begin(action: SessionAction, input: BulkInput, options?: CallOptions) {
    const keyed = { ...input, clientKey: input.clientKey ?? uuidv7() }
    const made = await MANY[action](request, keyed, { ...options, idempotent: true })
    if (made.__typename === 'DryRun') throw new Error('use `dryRun` for a dry run')
    const { resubmission: record, sessions, refused } = made
    // Only a resubmission can include dependents.
    const cancelledDependents = 'cancelledDependents' in made ? made.cancelledDependents : 0
    return { resubmission: record, sessions, refused, cancelledDependents }
  }

  return {
    /**
     * Resubmits failed sessions exactly once: a missing `clientKey` is generated. Large resubmissions run in the
     * background; `waitForResubmission` waits for them.
     * @throws ValidationError, ConflictError, ForbiddenError
     */
    resubmitSessions: (input: Wanted<ResubmitSessionsInput>, options?: CallOptions) =>
      begin('RESUBMIT', input, options),

    /**
     * Applies `terminateSession`, `cancelRetry` or `retryNow` to many sessions, in the same way as `resubmitSessions`.
     * @throws ValidationError, ConflictError, ForbiddenError
     */
    terminateSessions: (input: Wanted<TerminateSessionsInput>, options?: CallOptions) =>
      begin('TERMINATE', input, options),
    cancelRetries: (input: Wanted<CancelRetriesInput>, options?: CallOptions) => begin('CANCEL_RETRY', input, options),
    retryNowMany: (input: Wanted<RetryNowManyInput>, options?: CallOptions) => begin('RETRY_NOW', input, options),

    /**
     * Counts the sessions that an action would change, with the first 100 of them and the reasons why others would be
     * refused. Nothing is done. @throws ValidationError
     */
    async dryRun(
      action: SessionAction,
      input: Wanted<ResubmitSessionsInput & TerminateSessionsInput>,
      options?: CallOptions,
    ) {
      const made = await MANY[action](request, { ...input, dryRun: true }, options)
      if (made.__typename !== 'DryRun') throw new Error('the server does not know dryRun')
      const { total, count, sessions, refusals } = made
      const cancelledDependents = 'cancelledDependents' in made ? made.cancelledDependents : 0
      return { total, count, sessions, refusals, cancelledDependents }
    },

    /** @throws NotFoundError */
    resubmission,

    /** Lists resubmissions, newest first, page after page. */
    resubmissions(options: CallOptions & { idPrefix?: string } = {}) {
      const { idPrefix } = options
      return allPages(
        async (page) => (await request(ResubmissionsDocument, { idPrefix, ...page }, options)).resubmissions,
      )
    },

    /** Lists the outcome for each session of a resubmission. @throws NotFoundError */
    resubmissionItems(id: string, filter: { status?: ResubmissionItemStatus } = {}, options?: CallOptions) {
      return allPages(async (page) => {
        const data = await request(ResubmissionItemsDocument, { id, ...filter, ...page }, options)
        return (data.resubmission ?? gone(id)).items
      })
    },

    /** Returns the reasons for refusals so far, each once, most frequent first. @throws NotFoundError */
    async resubmissionRefusals(id: string, options?: CallOptions) {
      const data = await request(ResubmissionRefusalsDocument, { id }, options)
      return (data.resubmission ?? gone(id)).refusals
    },

    /** Waits until a resubmission is completed or aborted. @throws NotFoundError, the signal's reason */
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
