import { v7 as uuidv7 } from 'uuid'
import { NotFoundError } from './errors.ts'
import type { CallOptions, Connection, RequestOptions } from './connection/connection.ts'
import {
  AbortBulkActionDocument,
  BulkActionDocument,
  BulkActionItemsDocument,
  BulkActionRefusalsDocument,
  BulkActionsDocument,
  type BulkActionSummaryFragment,
  CancelRetriesDocument,
  ResubmitSessionsDocument,
  RetryNowManyDocument,
  TerminateSessionsDocument,
} from './operations.generated.ts'
import type {
  BulkActionFilter,
  BulkActionItemStatus,
  CancelRetriesInput,
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

/** The record of an action on many sessions under its former name. */
export type FormerRecord = BulkActionSummaryFragment & { resubmissionId: string }

const formerly = (record: BulkActionSummaryFragment): FormerRecord => ({
  ...record,
  resubmissionId: record.bulkActionId,
})

export function resubmissionOperations(connection: Connection) {
  const { request } = connection

  async function bulkAction(id: string, options?: CallOptions): Promise<BulkActionSummaryFragment> {
    return (await request(BulkActionDocument, { id }, options)).bulkAction ?? gone(id)
  }

  /**
   * Starts an action on many sessions. A missing `clientKey` is generated, so that the action is done once even if the
   * request is sent several times.
   */
  async function begin(action: SessionAction, input: BulkInput, options?: CallOptions) {
    const keyed = { ...input, clientKey: input.clientKey ?? uuidv7() }
    const made = await MANY[action](request, keyed, { ...options, idempotent: true })
    if (made.__typename === 'DryRun') throw new Error('use `dryRun` for a dry run')
    const { bulkAction: record, sessions, refused } = made
    // Only a resubmission can include dependents.
    const cancelledDependents = 'cancelledDependents' in made ? made.cancelledDependents : 0
    return {
      bulkAction: record,
      /** @deprecated Use `bulkAction`. */
      resubmission: formerly(record),
      sessions,
      refused,
      cancelledDependents,
    }
  }

  /** Lists actions on many sessions, newest first, page after page. */
  function bulkActions(options: CallOptions & { filter?: BulkActionFilter } = {}) {
    const { filter } = options
    return allPages(async (page) => (await request(BulkActionsDocument, { filter, ...page }, options)).bulkActions)
  }

  /** Lists the outcome for each session of an action. @throws NotFoundError */
  function bulkActionItems(id: string, filter: { status?: BulkActionItemStatus } = {}, options?: CallOptions) {
    return allPages(async (page) => {
      const data = await request(BulkActionItemsDocument, { id, ...filter, ...page }, options)
      return (data.bulkAction ?? gone(id)).items
    })
  }

  /** Returns the reasons for refusals so far, each once, most frequent first. @throws NotFoundError */
  async function bulkActionRefusals(id: string, options?: CallOptions) {
    const data = await request(BulkActionRefusalsDocument, { id }, options)
    return (data.bulkAction ?? gone(id)).refusals
  }

  /** Waits until an action is completed or aborted. @throws NotFoundError, the signal's reason */
  async function waitForBulkAction(
    id: string,
    options: CallOptions & { onBulkAction?: (now: BulkActionSummaryFragment) => void } = {},
  ): Promise<BulkActionSummaryFragment> {
    for (;;) {
      const now = await bulkAction(id, options)
      options.onBulkAction?.(now)
      if (now.state !== 'RUNNING') return now
      await pause(POLL_SECONDS, options.signal)
    }
  }

  /** Aborts an action on many sessions. @throws NotFoundError, InvalidStateError, ForbiddenError */
  async function abortBulkAction(bulkActionId: string, options?: CallOptions) {
    const data = await request(AbortBulkActionDocument, { input: { bulkActionId } }, options)
    return payloadOf(data.abortBulkAction).bulkAction
  }

  return {
    /**
     * Resubmits failed sessions exactly once: a missing `clientKey` is generated. Large resubmissions run in the
     * background; `waitForBulkAction` waits for them.
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
    bulkAction,
    bulkActions,
    bulkActionItems,
    bulkActionRefusals,
    waitForBulkAction,
    abortBulkAction,

    /** @deprecated Use `bulkAction`. */
    resubmission: async (id: string, options?: CallOptions) => formerly(await bulkAction(id, options)),

    /** @deprecated Use `bulkActions`. */
    async *resubmissions(options: CallOptions & { idPrefix?: string } = {}) {
      const { idPrefix, ...call } = options
      for await (const record of bulkActions({ filter: { idPrefix }, ...call })) yield formerly(record)
    },

    /** @deprecated Use `bulkActionItems`. */
    resubmissionItems: bulkActionItems,

    /** @deprecated Use `bulkActionRefusals`. */
    resubmissionRefusals: bulkActionRefusals,

    /** @deprecated Use `waitForBulkAction`. */
    async waitForResubmission(
      id: string,
      { onResubmission, ...options }: CallOptions & { onResubmission?: (now: FormerRecord) => void } = {},
    ): Promise<FormerRecord> {
      const onBulkAction = (now: BulkActionSummaryFragment) => onResubmission?.(formerly(now))
      return formerly(await waitForBulkAction(id, { ...options, onBulkAction }))
    },

    /** @deprecated Use `abortBulkAction`. */
    abortResubmission: async (id: string, options?: CallOptions) => formerly(await abortBulkAction(id, options)),
  }
}

function gone(id: string): never {
  throw new NotFoundError('RESUBMISSION_NOT_FOUND', `There is no action ${id}.`)
}
