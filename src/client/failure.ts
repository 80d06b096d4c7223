import { v7 as uuidv7 } from 'uuid'
import { allPages, payloadOf } from './answers.ts'
import type { CallOptions, Connection } from './connection/connection.ts'
import { NotFoundError } from './errors.ts'
import {
  ComparableSessionsDocument,
  type ComparableSessionsQuery,
  CompareSessionsDocument,
  type CompareSessionsQuery,
  FailureGroupDocument,
  type FailureGroupQuery,
  FailureGroupsDocument,
  type FailureGroupsQueryVariables,
  type FailureGroupSummaryFragment,
  FailureRulesDocument,
  type FailureRulesQuery,
  RetryInsightsDocument,
  type RetryInsightsQuery,
  type RetryInsightsQueryVariables,
  SetFailureGroupStateDocument,
  SetFailureRulesDocument,
  SetRetryBreakerDocument,
  UsageDocument,
  type UsageQuery,
  type UsageQueryVariables,
} from './operations.generated.ts'
import type {
  SetFailureGroupStateInput,
  SetFailureRulesInput,
  SetRetryBreakerInput,
  TimeWindow,
} from './schema-types.generated.ts'

export type FailureGroup = FailureGroupSummaryFragment
export type FailureRule = NonNullable<FailureRulesQuery['project']>['failureRules'][number]
export type SessionComparison = CompareSessionsQuery['compareSessions']
export type RetryInsight = RetryInsightsQuery['retryInsights'][number]
export type UsageRow = UsageQuery['usage'][number]

export function failureOperations({ request }: Connection) {
  return {
    /** Lists failed attempts, grouped by what they say. Pages are read as they are needed. */
    failureGroups(query: Omit<FailureGroupsQueryVariables, 'first' | 'after'> = {}, options?: CallOptions) {
      return allPages(
        async (page) => (await request(FailureGroupsDocument, { ...query, ...page }, options)).failureGroups,
      )
    },

    /** Returns a group of failures, with where they happened. @throws NotFoundError */
    async failureGroup(
      id: string,
      window?: TimeWindow,
      options?: CallOptions,
    ): Promise<NonNullable<FailureGroupQuery['failureGroup']>> {
      const { failureGroup: found } = await request(FailureGroupDocument, { id, window }, options)
      if (found) return found
      throw new NotFoundError('FAILURE_GROUP_NOT_FOUND', `There is no group of failures ${id}.`)
    },

    /**
     * Returns what failures cost and what retries bring, by one property; with `withSeries` also by the day or hour.
     * @throws ValidationError
     */
    async retryInsights(
      query: Omit<RetryInsightsQueryVariables, 'withSeries'> & { withSeries?: boolean },
      options?: CallOptions,
    ): Promise<RetryInsight[]> {
      return (await request(RetryInsightsDocument, { withSeries: false, ...query }, options)).retryInsights
    },

    /** Returns who used the cluster, by one property. @throws ValidationError */
    async usage(query: UsageQueryVariables, options?: CallOptions): Promise<UsageRow[]> {
      return (await request(UsageDocument, query, options)).usage
    },

    /** Compares two sessions: their specifications, how they ran, and where their logs differ first. @throws NotFoundError */
    async compareSessions(left: string, right: string, options?: CallOptions): Promise<SessionComparison> {
      return (await request(CompareSessionsDocument, { left, right }, options)).compareSessions
    },

    /** Returns the sessions to compare one with: the last success of its name, and its parent. @throws NotFoundError */
    async comparableSessions(
      id: string,
      options?: CallOptions,
    ): Promise<NonNullable<ComparableSessionsQuery['session']>> {
      const { session } = await request(ComparableSessionsDocument, { id }, options)
      if (session) return session
      throw new NotFoundError('SESSION_NOT_FOUND', `There is no session ${id}.`)
    },

    /** Says what people know about a group of failures. @throws ValidationError, NotFoundError, ForbiddenError */
    async setFailureGroupState(input: SetFailureGroupStateInput, options?: CallOptions): Promise<FailureGroup> {
      const keyed = { ...input, clientKey: input.clientKey ?? uuidv7() }
      const data = await request(SetFailureGroupStateDocument, { input: keyed }, { ...options, idempotent: true })
      return payloadOf(data.setFailureGroupState).failureGroup
    },

    /** Returns the rules by which the failures of a project are grouped. @throws NotFoundError */
    async failureRules(project: string, options?: CallOptions): Promise<FailureRule[]> {
      const { project: found } = await request(FailureRulesDocument, { project }, options)
      if (found) return found.failureRules
      throw new NotFoundError('PROJECT_NOT_FOUND', `There is no project ${project}.`)
    },

    /**
     * Replaces the rules by which failures of a project are grouped from now on.
     *
     * @throws ValidationError, NotFoundError, ForbiddenError
     */
    async setFailureRules(input: SetFailureRulesInput, options?: CallOptions): Promise<FailureRule[]> {
      const data = await request(SetFailureRulesDocument, { input }, { ...options, idempotent: true })
      return payloadOf(data.setFailureRules).project.failureRules
    },

    /**
     * Holds the retries of a group of failures, but for single probes, or releases them.
     *
     * @throws ValidationError, NotFoundError, ForbiddenError
     */
    async setRetryBreaker(input: SetRetryBreakerInput, options?: CallOptions): Promise<FailureGroup> {
      const keyed = { ...input, clientKey: input.clientKey ?? uuidv7() }
      const data = await request(SetRetryBreakerDocument, { input: keyed }, { ...options, idempotent: true })
      return payloadOf(data.setRetryBreaker).failureGroup
    },
  }
}
