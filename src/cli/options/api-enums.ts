import type {
  AgentStatus,
  AirflowRelease,
  ChainState,
  DeploymentStatus,
  FailureCause,
  QuotaScope,
  RetryBackoff,
  RetryJitter,
  RetryPhase,
  RetryPolicyPreset,
  RetryScope,
  SessionOrigin,
  SessionResult,
  SessionStatus,
  SessionType,
  TokenRole,
  WebhookDeliveryStatus,
} from '../../client/node/index.ts'

/** Values of API enums accepted on the command line; the type makes each list complete. */

function all<Word extends string>(words: Readonly<Record<Word, true>>): readonly Word[] {
  return Object.keys(words) as Word[]
}

export const BACKOFFS = all<RetryBackoff>({ FIXED: true, EXPONENTIAL: true })
export const JITTERS = all<RetryJitter>({
  NONE: true,
  DETERMINISTIC: true,
  RANDOM: true,
  FULL: true,
  DECORRELATED: true,
})
export const PRESETS = all<RetryPolicyPreset>({ CMS_EXIT_CODES: true })
export const CAUSES = all<FailureCause>({
  AGENT_TRANSIENT: true,
  SCHEDULER_TIMEOUT: true,
  IMAGE_PULL_FAILURE: true,
  KERNEL_NONZERO_EXIT: true,
  OOM_KILLED: true,
  UNKNOWN: true,
  USER_CANCELLED: true,
  VALIDATION_ERROR: true,
  QUOTA_EXCEEDED: true,
})
export const PHASES = all<RetryPhase>({
  NONE: true,
  UNDECIDED: true,
  SCHEDULED: true,
  HELD: true,
  DISPATCHED: true,
  SUCCEEDED: true,
  EXHAUSTED: true,
  NOT_ELIGIBLE: true,
  CANCELLED: true,
})
export const STATUSES = all<SessionStatus>({
  PENDING: true,
  SCHEDULED: true,
  PREPARING: true,
  PULLING: true,
  PREPARED: true,
  CREATING: true,
  RUNNING: true,
  TERMINATING: true,
  TERMINATED: true,
  ERROR: true,
  CANCELLED: true,
})
export const RESULTS = all<SessionResult>({ SUCCESS: true, FAILURE: true, UNDEFINED: true })
export const ORIGINS = all<SessionOrigin>({ INITIAL: true, AUTO_RETRY: true, RESUBMISSION: true })
export const SESSION_TYPES = all<SessionType>({ BATCH: true, INTERACTIVE: true, INFERENCE: true })
export const CHAIN_STATES = all<ChainState>({
  LIVE: true,
  WAITING_RETRY: true,
  HELD: true,
  SUCCEEDED: true,
  FAILED: true,
  CANCELLED: true,
})
export const DEPLOYMENT_STATUSES = all<DeploymentStatus>({
  PENDING: true,
  CREATED: true,
  DEPLOYING: true,
  SCALING: true,
  READY: true,
  DESTROYING: true,
  DESTROYED: true,
})
export const AGENT_STATUSES = all<AgentStatus>({
  ALIVE: true,
  SUSPECT: true,
  LOST: true,
  DRAINING: true,
  TERMINATED: true,
})
export const RETRY_SCOPES = all<RetryScope>({ CLUSTER: true, DOMAIN: true, PROJECT: true })
export const QUOTA_SCOPES = all<QuotaScope>({ USER: true, PROJECT: true, DOMAIN: true })
export const TOKEN_ROLES = all<TokenRole>({ ADMIN: true, MEMBER: true, VIEWER: true, METRICS: true, AGENT: true })
export const DELIVERY_STATUSES = all<WebhookDeliveryStatus>({ PENDING: true, DELIVERED: true, FAILED: true })
export const AIRFLOW_RELEASES = all<AirflowRelease>({
  AIRFLOW_2_5: true,
  AIRFLOW_2_6: true,
  AIRFLOW_2_10: true,
  AIRFLOW_3_2: true,
})
