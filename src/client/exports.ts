/** Exports shared by both entry points of the package. */
export * from './errors.ts'
export type { Chain, ChainEndsOptions, ChainOutcome, EndedChain, WaitOptions } from './chain.ts'
export { hasEnded } from './chain.ts'
export type { Client, ClientOptions } from './client.ts'
export type { CallOptions, Connection, Document, RequestOptions } from './connection/connection.ts'
export type { DeploymentWaitOptions } from './deployment.ts'
export type { DeploymentEvent, FollowOptions, RetryEvent, SessionEvent } from './event.ts'
export type { AttemptLog, AttemptLogOptions, LogChunk, LogOptions } from './log.ts'
export * from './operations.generated.ts'
export type * from './schema-types.generated.ts'
export type {
  AttemptFragment as Attempt,
  DecisionFragment as RetryDecision,
  DeploymentDetailFragment as Deployment,
  ScheduleDetailFragment as Schedule,
  DeploymentSummaryFragment as DeploymentSummary,
  PolicyFragment as RetryPolicy,
  BulkActionSummaryFragment as BulkAction,
  SessionDetailFragment as Session,
  SessionSummaryFragment as SessionSummary,
} from './operations.generated.ts'
export type { FailureGroup, FailureRule, RetryInsight, SessionComparison, UsageRow } from './failure.ts'
export type { RetryAdvice, RetryBacktest, RetryBacktestProgress } from './retry.ts'
export type { QueuedSession } from './session.ts'
export { isOver } from './session.ts'
export type { SessionGroup } from './group.ts'
export { hasGroupEnded } from './group.ts'
export type { AttemptOutputs, OutputFile, Outputs } from './output.ts'
export { areSettled } from './output.ts'
/** The former name of `BulkAction`. */
export type { FormerRecord as Resubmission } from './resubmission.ts'
export type { Page, PageOptions } from './answers.ts'
export type { OnProgress, Progress } from './settings.ts'
export type { HttpRetry, NetworkRetry, ReconnectRetry, RetryConfig, RetryOptions } from './settings.ts'
export { RETRY_DEFAULTS } from './settings.ts'
export type { TimeoutOptions, Timeouts } from './settings.ts'
export { TIMEOUT_DEFAULTS } from './settings.ts'
export type { Created, SessionsQuery } from './session.ts'
