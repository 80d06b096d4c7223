import { v7 as uuidv7 } from 'uuid'
import type { CallOptions, Connection } from './connection/connection.ts'
import {
  AirflowPolicyPreviewDocument,
  ApplyRetryAdviceDocument,
  DismissRetryAdviceDocument,
  RetryAdviceDocument,
  type RetryAdviceQueryVariables,
  type RetryAdviceSummaryFragment,
  type RetryBacktestFragment,
  RetryBacktestProgressDocument,
  type RetryBacktestProgressSubscription,
  type RetryBacktestProgressSubscriptionVariables,
  RetryDecisionsDocument,
  RetryDefaultsDocument,
  RetryPolicyPreviewDocument,
  type RetryPolicyPreviewQueryVariables,
  RetryPolicyTrialDocument,
  type RetryPolicyTrialQueryVariables,
  RetrySwitchesDocument,
  SetRetryDefaultsDocument,
  SetRetrySwitchDocument,
} from './operations.generated.ts'
import type {
  AirflowSettingsInput,
  ApplyRetryAdviceInput,
  DismissRetryAdviceInput,
  RetryDecisionFilter,
  SetRetryDefaultsInput,
  SetRetrySwitchInput,
} from './schema-types.generated.ts'
import { allPages, payloadOf } from './answers.ts'
import { ConnectionLostError, NotFoundError } from './errors.ts'
import { picked } from './streams/closeable.ts'

export type RetryBacktest = RetryBacktestFragment
export type RetryAdvice = RetryAdviceSummaryFragment
export type RetryBacktestProgress = RetryBacktestProgressSubscription['retryBacktestProgress']

export function retryOperations(connection: Connection) {
  const { request, stream } = connection

  function followRetryBacktest(
    query: RetryBacktestProgressSubscriptionVariables,
    options: CallOptions = {},
  ): AsyncIterableIterator<RetryBacktestProgress> {
    return picked(stream(RetryBacktestProgressDocument, query, options), (data) => data.retryBacktestProgress)
  }

  return {
    /**
     * Replays finished chains under another policy. Yields the progress; the last item has the result. Ending the
     * iteration cancels the work.
     * @throws ValidationError, ApiError (TOO_MANY_REQUESTS: you have other backtests in progress)
     */
    followRetryBacktest,

    /** Replays finished chains under another policy, and returns the result. @throws as `followRetryBacktest` */
    async backtestRetryPolicy(
      query: RetryBacktestProgressSubscriptionVariables,
      options: CallOptions = {},
    ): Promise<RetryBacktest> {
      for await (const { backtest } of followRetryBacktest(query, options)) if (backtest) return backtest
      throw new ConnectionLostError('CONNECTION_LOST', 'The backtest ended without a result')
    },

    /**
     * Returns advice, what wastes most first: of a project, of a domain's projects, or of all projects and about machines
     * (CLUSTER).
     * @throws ValidationError
     */
    async retryAdvice(
      query: Omit<RetryAdviceQueryVariables, 'withBacktest' | 'adviceId'>,
      options?: CallOptions,
    ): Promise<RetryAdvice[]> {
      return (await request(RetryAdviceDocument, { ...query, withBacktest: false }, options)).retryAdvice
    },

    /**
     * Returns one piece of advice, and what its change would have made of the last 30 days: null if it changes no policy.
     * @throws NotFoundError, ApiError (TOO_MANY_REQUESTS: you have other backtests in progress)
     */
    async backtestRetryAdvice(
      adviceId: string,
      options?: CallOptions,
    ): Promise<{ advice: RetryAdvice; backtest: RetryBacktest | null }> {
      const query = { scope: 'CLUSTER', adviceId, withBacktest: true } as const
      const [found] = (await request(RetryAdviceDocument, query, options)).retryAdvice
      if (!found) throw new NotFoundError('ADVICE_NOT_FOUND', `There is no advice ${adviceId}.`)
      const { backtest = null, ...advice } = found
      return { advice, backtest }
    },

    /** Makes the change that advice suggests. @throws ValidationError, NotFoundError, ForbiddenError */
    async applyRetryAdvice(input: ApplyRetryAdviceInput, options?: CallOptions): Promise<RetryAdvice> {
      const keyed = { ...input, clientKey: input.clientKey ?? uuidv7() }
      const data = await request(ApplyRetryAdviceDocument, { input: keyed }, { ...options, idempotent: true })
      return payloadOf(data.applyRetryAdvice).advice
    },

    /** Says that advice is not wanted, or with `dismissed: false` that it is. @throws NotFoundError, ForbiddenError */
    async dismissRetryAdvice(input: DismissRetryAdviceInput, options?: CallOptions): Promise<RetryAdvice> {
      const keyed = { ...input, clientKey: input.clientKey ?? uuidv7() }
      const data = await request(DismissRetryAdviceDocument, { input: keyed }, { ...options, idempotent: true })
      return payloadOf(data.dismissRetryAdvice).advice
    },

    /** Returns the schedule that a policy gives, without creating anything. @throws ValidationError */
    async previewRetryPolicy(query: RetryPolicyPreviewQueryVariables, options?: CallOptions) {
      return (await request(RetryPolicyPreviewDocument, query, options)).retryPolicyPreview
    },

    /**
     * Tries a policy on finished sessions: returns what it would have decided about each. Without `sessionIds`, `filter`
     * and `window`: about those that failed in the last seven days.
     * @throws ValidationError, NotFoundError
     */
    async tryRetryPolicy(query: RetryPolicyTrialQueryVariables, options?: CallOptions) {
      const asked = query.sessionIds ? query : { ...query, window: query.window ?? {} }
      return (await request(RetryPolicyTrialDocument, asked, options)).retryPolicyPreview.trial!
    },

    /** Returns the policy equivalent to an Airflow operator's settings, and both schedules. @throws ValidationError */
    async previewAirflowPolicy(settings: AirflowSettingsInput, options?: CallOptions) {
      return (await request(AirflowPolicyPreviewDocument, { settings }, options)).airflowPolicyPreview
    },

    /** Lists retry decisions about finished sessions. Pages are read as they are needed. */
    retryDecisions(filter?: RetryDecisionFilter, options?: CallOptions) {
      return allPages(
        async (page) => (await request(RetryDecisionsDocument, { filter, ...page }, options)).retryDecisions,
      )
    },

    async retryDefaults(options?: CallOptions) {
      return (await request(RetryDefaultsDocument, {}, options)).retryDefaults
    },

    /** Replaces the retry policy defaults of a scope. @throws ValidationError, NotFoundError, ForbiddenError */
    async setRetryDefaults(input: SetRetryDefaultsInput, options?: CallOptions) {
      const data = await request(SetRetryDefaultsDocument, { input }, options)
      return payloadOf(data.setRetryDefaults).retryDefaults
    },

    async retrySwitches(options?: CallOptions) {
      return (await request(RetrySwitchesDocument, {}, options)).retrySwitches
    },

    /** Sets the kill switch and rate limit of a scope. @throws ValidationError, NotFoundError, ForbiddenError */
    async setRetrySwitch(input: SetRetrySwitchInput, options?: CallOptions) {
      const data = await request(SetRetrySwitchDocument, { input }, options)
      return payloadOf(data.setRetrySwitch).retrySwitch
    },
  }
}
