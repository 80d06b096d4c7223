import type { CallOptions, Connection } from './connection/connection.ts'
import {
  AirflowPolicyPreviewDocument,
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
  RetryDecisionFilter,
  SetRetryDefaultsInput,
  SetRetrySwitchInput,
} from './schema-types.generated.ts'
import { allPages, payloadOf } from './answers.ts'
import { ConnectionLostError } from './errors.ts'
import { picked } from './streams/closeable.ts'

export type RetryBacktest = RetryBacktestFragment
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
