import type { CallOptions, Connection } from './connection/connection.ts'
import {
  AirflowPolicyPreviewDocument,
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

export function retryOperations(connection: Connection) {
  const { request } = connection
  return {
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
