/** Exports shared by both entry points of the package. */
export * from './api-errors.ts'
export * from './errors.ts'
export type { Chain, ChainOutcome, WaitOptions } from './chain.ts'
export { hasEnded } from './chain.ts'
export type { Client, ClientOptions } from './client.ts'
export type { CallOptions, Connection, Document, RequestOptions } from './connection/connection.ts'
export type { DeploymentWaitOptions } from './deployments.ts'
export type { DeploymentEvent, FollowOptions, RetryEvent, SessionEvent } from './events.ts'
export type { AttemptLog, AttemptLogOptions, LogChunk, LogOptions } from './logs.ts'
export * from './operations.generated.ts'
export type * from './schema-types.generated.ts'
export type {
  AttemptFragment as Attempt,
  DecisionFragment as RetryDecision,
  DeploymentDetailFragment as Deployment,
  ScheduleDetailFragment as Schedule,
  DeploymentSummaryFragment as DeploymentSummary,
  PolicyFragment as RetryPolicy,
  ResubmissionSummaryFragment as Resubmission,
  SessionDetailFragment as Session,
  SessionSummaryFragment as SessionSummary,
} from './operations.generated.ts'
export type { Page, PageOptions } from './pages.ts'
export type { OnProgress, Progress } from './progress.ts'
export type { HttpRetry, NetworkRetry, ReconnectRetry, RetryConfig, RetryOptions } from './retry/retry-config.ts'
export { RETRY_DEFAULTS } from './retry/retry-config.ts'
export type { TimeoutOptions, Timeouts } from './retry/timeouts.ts'
export { TIMEOUT_DEFAULTS } from './retry/timeouts.ts'
export type { Created, SessionsQuery } from './sessions.ts'
