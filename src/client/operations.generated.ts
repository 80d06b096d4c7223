/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type { DocumentTypeDecoration } from '@graphql-typed-document-node/core';
/** Which resubmission to end. */
export type AbortResubmissionInput = {
  /** Which. */
  resubmissionId: string;
};

/** All given conditions must match. */
export type AgentFilter = {
  /** In this resource group. */
  resourceGroup?: string | null | undefined;
  /** With one of these values. */
  status?: Array<AgentStatus> | null | undefined;
};

/** Which of the agents with free capacity is chosen. */
export type AgentSelector =
  /** The agent that would be most full. */
  | 'CONCENTRATED'
  /** The agent that would be least full. */
  | 'DISPERSED'
  /** Each agent in turn. */
  | 'ROUND_ROBIN';

/** The state of an agent. */
export type AgentStatus =
  /** It responds and accepts work. */
  | 'ALIVE'
  /** It finishes its kernels and accepts no new work. */
  | 'DRAINING'
  /** Silent for so long that its kernels have been given up. */
  | 'LOST'
  /** Silent for a while; it is given no new work. */
  | 'SUSPECT'
  /** Gone for good. */
  | 'TERMINATED';

/** Releases of Airflow, by how they compute delays. */
export type AirflowRelease =
  /** Up to 2.5.3: no limit of 24 hours yet. */
  | 'AIRFLOW_2_5'
  /** 2.6 to 2.9. */
  | 'AIRFLOW_2_6'
  /** 2.10 to 3.1. */
  | 'AIRFLOW_2_10'
  /** 3.2 and later. */
  | 'AIRFLOW_3_2';

/** An Airflow operator's settings. Durations are seconds. Missing settings have Airflow's own defaults. */
export type AirflowSettingsInput = {
  /** With `taskId`: computes the jitter that Airflow gives this task. */
  dagId?: string | null | undefined;
  /** In Python's format: `2026-01-31 00:00:00+00:00`. Omit it for a run without a logical date. */
  logicalDate?: string | null | undefined;
  /** `max_retry_delay`. */
  maxRetryDelay?: number | null | undefined;
  /** Whose formula; 3.2 if not given. */
  release?: AirflowRelease | null | undefined;
  /** `retries`; 0 if not given. */
  retries?: number | null | undefined;
  /** `retry_delay`; 300 if not given. */
  retryDelay?: number | null | undefined;
  /** `retry_exponential_backoff`; false if not given. */
  retryExponentialBackoff?: boolean | number | null | undefined;
  /** With `dagId`. */
  taskId?: string | null | undefined;
};

/** Which entries. All given conditions must match. */
export type AuditFilter = {
  /** One of these actions. */
  action?: Array<string> | null | undefined;
  /** By this name. */
  actor?: string | null | undefined;
  /** By when it was. */
  at?: DateTimeFilter | null | undefined;
  /** Name of the project that they concern. */
  project?: string | null | undefined;
  /** Only what was refused, or only what was done. */
  refused?: boolean | null | undefined;
  /** Of this request. */
  requestId?: string | null | undefined;
  /** About this session. */
  sessionId?: string | null | undefined;
  /** By this token. */
  tokenId?: string | null | undefined;
  /** By tokens of this user. */
  userId?: string | null | undefined;
};

/** Whose retries are cancelled. Either `sessionIds` or `filter`. */
export type CancelRetriesInput = {
  /** Idempotency key chosen by the client, unique in the project: the same key returns the first call’s resubmission. */
  clientKey?: string | null | undefined;
  /** True: nothing is done or recorded; the answer says to how many it would be. */
  dryRun?: boolean | null | undefined;
  /** The sessions that match now, at most 100000. What matches later is not among them; an empty filter is refused. */
  filter?: SessionFilter | null | undefined;
  /** These sessions; at most 100000. */
  sessionIds?: Array<string> | null | undefined;
};

/** Which retry to cancel. */
export type CancelRetryInput = {
  /** The session that failed. */
  sessionId: string;
};

/** All given conditions must match. */
export type ChainFilter = {
  /** By `newestActivityAt`. */
  activityAt?: DateTimeFilter | null | undefined;
  /** With a kernel that is, or was, on the agent of this id. */
  agent?: string | null | undefined;
  /** By how many attempts there are. */
  attempts?: IntRange | null | undefined;
  /** Whose latest failure had one of these causes. */
  cause?: Array<FailureCause> | null | undefined;
  /** By when the first attempt was created. */
  createdAt?: DateTimeFilter | null | undefined;
  /** By when the retry is due that it waits for. */
  dueAt?: DateTimeFilter | null | undefined;
  /** Whose newest attempt ended with one of these exit codes. */
  exitCode?: Array<number> | null | undefined;
  /** Whose retry is held for one of these reasons. */
  holdReason?: Array<HoldReason> | null | undefined;
  /** With one of these `chainId`s, at most 200. */
  ids?: Array<string> | null | undefined;
  /** With this label. */
  label?: LabelInput | null | undefined;
  /** By name. */
  name?: StringFilter | null | undefined;
  /** In the project of this name. */
  project?: string | null | undefined;
  /** Whose newest attempt is in the resource group of this name. */
  resourceGroup?: string | null | undefined;
  /** Beginnings of words in the name and the labels; all must occur, in any order. Case is ignored. A word is a run of letters and digits. */
  search?: string | null | undefined;
  /** In one of these states. */
  state?: Array<ChainState> | null | undefined;
  /** Whose newest attempt belongs to the user of this name. */
  user?: string | null | undefined;
};

/** What to order chains by. */
export type ChainOrder = {
  /** Which way. */
  direction?: OrderDirection | null | undefined;
  /** By what. */
  field: ChainOrderField;
};

/** By what chains can be ordered. */
export type ChainOrderField =
  /** When an attempt was last created or judged, or its retry changed. */
  | 'ACTIVITY'
  /** How many attempts it has. */
  | 'ATTEMPTS'
  /** When its first attempt was created. */
  | 'CREATED_AT'
  /** When its retry is due. Only chains that wait for a retry, or whose retry is held, are listed. */
  | 'DUE_AT'
  /** Its name, as the database sorts texts. */
  | 'NAME'
  /** Time from its creation to its end; a live chain counts up to when the first page was read. */
  | 'TOTAL_TIME';

/** What a chain spent a part of its time with. */
export type ChainSegmentKind =
  /** Between a failed attempt and its retry, or until that was given up. */
  | 'BACKOFF'
  /** Its kernels were being stopped. */
  | 'ENDING'
  /** A retry that was due was held: see `holdReason`. */
  | 'HELD'
  /** The retry to come. It is no part of the time so far. */
  | 'PLANNED'
  /** Its kernels were being prepared and started. */
  | 'PREPARING'
  /** An attempt waited to be placed on an agent. */
  | 'QUEUED'
  /** The chain had ended; a person resubmitted it. */
  | 'RESUBMISSION_GAP'
  /** Its program ran. */
  | 'RUNNING';

/** State of a chain. The last three are final unless it is resubmitted. */
export type ChainState =
  /** A person terminated its newest attempt before it produced a result. */
  | 'CANCELLED'
  /** Its newest attempt failed, and no retry follows. */
  | 'FAILED'
  /** Its newest attempt failed; a retry is due but held. */
  | 'HELD'
  /** Its newest attempt is in progress, or has ended and is not yet decided about. */
  | 'LIVE'
  /** Its newest attempt succeeded. */
  | 'SUCCEEDED'
  /** Its newest attempt failed; a retry is waiting for its delay to pass. */
  | 'WAITING_RETRY';

/** How the kernels of a session are spread. */
export type ClusterMode =
  /** On as many agents as needed. */
  | 'MULTI_NODE'
  /** All on one agent. */
  | 'SINGLE_NODE';

/** The program to serve, the number of replicas, and the health check. Durations are in seconds. */
export type CreateDeploymentInput = {
  /** An agent must have all of these labels to run a route. */
  agentLabels?: Array<LabelInput> | null | undefined;
  /** The program and its arguments. */
  command: Array<string>;
  /** Idempotency key chosen by the client, unique in the project. */
  creationId?: string | null | undefined;
  /** Time between removing a route from service discovery and stopping its program. */
  drain?: number | null | undefined;
  /** Its environment, in addition to the variables set by Reprise. */
  environ?: Array<EnvVarInput> | null | undefined;
  /** How long an unhealthy route may take to recover before it is replaced. */
  evictAfter?: number | null | undefined;
  /** How the health of its routes is checked. */
  healthCheck?: HealthCheckInput | null | undefined;
  /** Preset of environment and interpreter for its program. */
  image?: string | null | undefined;
  /** Labels of your choice. */
  labels?: Array<LabelInput> | null | undefined;
  /** Maximum number of extra replicas during an update. Null: a quarter of the replicas, rounded up. */
  maxSurge?: number | null | undefined;
  /** Minimum number of healthy replicas during an update. Null: three quarters of the replicas, rounded up. */
  minHealthy?: number | null | undefined;
  /** Lower-case letters, digits and -, unique in the project. */
  name: string;
  /** The environment variable that gives the program its port. */
  portVariable?: string | null | undefined;
  /** 0 to 100; the higher goes first. */
  priority?: number | null | undefined;
  /** Name of the project. */
  project?: string | null | undefined;
  /** Desired number of healthy routes. */
  replicas?: number | null | undefined;
  /** Name of the resource group for its routes. */
  resourceGroup?: string | null | undefined;
  /** Resources of each route. */
  resourceSlots?: Array<ResourceSlotInput> | null | undefined;
  /** Variables whose values are encrypted, handed to kernels that start, and read by nobody else. */
  secretEnviron?: Array<EnvVarInput> | null | undefined;
  /** Time limit from the creation of a route to its first successful check, after which it has failed to start. */
  startTimeout?: number | null | undefined;
};

/** What to run, and how. */
export type CreateSessionInput = {
  /** An agent must have all of these labels to run it. */
  agentLabels?: Array<LabelInput> | null | undefined;
  /** Only these agents may run it, and its retries; none: all. */
  allowAgents?: Array<string> | null | undefined;
  /** Agents to avoid: used only if no other has free capacity. */
  avoidAgents?: Array<string> | null | undefined;
  /** Batch timeout: seconds that user code may run. */
  batchTimeout?: number | null | undefined;
  /** How they are spread over agents. */
  clusterMode?: ClusterMode | null | undefined;
  /** How many kernels. */
  clusterSize?: number | null | undefined;
  /** The program and its arguments: `["sh", "-c", "exit 3"]`. */
  command: Array<string>;
  /** Idempotency key chosen by the client, unique in the project. The endings `:retry:<number>` and `:resubmission:<number>` are reserved. */
  creationId?: string | null | undefined;
  /** Sessions whose chains must succeed first. */
  dependsOn?: Array<string> | null | undefined;
  /** Environment of its kernels, in addition to the variables set by Reprise. */
  environ?: Array<EnvVarInput> | null | undefined;
  /** Agents that must not run it, nor its retries: it waits if no other is left. */
  excludeAgents?: Array<string> | null | undefined;
  /** Preset of environment and interpreter for its kernels. */
  image?: string | null | undefined;
  /** Labels of your choice. */
  labels?: Array<LabelInput> | null | undefined;
  /** Its name; need not be unique. */
  name: string;
  /** 0 to 100; the higher goes first. */
  priority?: number | null | undefined;
  /** Name of the project. */
  project?: string | null | undefined;
  /** Name of the resource group to run in. */
  resourceGroup?: string | null | undefined;
  /** Resources of each kernel. */
  resourceSlots?: Array<ResourceSlotInput> | null | undefined;
  /** How it is retried. */
  retryPolicy?: RetryPolicyInput | null | undefined;
  /** Variables whose values are encrypted, handed to kernels that start, and read by nobody else. */
  secretEnviron?: Array<EnvVarInput> | null | undefined;
  /** What it is for. */
  sessionType?: SessionType | null | undefined;
  /** Earliest start time. */
  startsAt?: string | null | undefined;
};

/** Sessions to create. */
export type CreateSessionsInput = {
  /** At most 1000. */
  sessions: Array<CreateSessionInput>;
};

/** A token to create. */
export type CreateTokenInput = {
  /** When it expires; never if missing. */
  expiresAt?: string | null | undefined;
  /** For people: what it is for. */
  name: string;
  /** Name of the only project that it can see. MEMBER and VIEWER tokens have one, AGENT tokens have none, ADMIN and METRICS tokens may have one. */
  project?: string | null | undefined;
  /** For AGENT: names of the only resource groups that its agents may join; any if missing. */
  resourceGroups?: Array<string> | null | undefined;
  /** What it may do. */
  role: TokenRole;
  /** Name of the user that it belongs to. For a project's token, the user must be a member of the project with at least the token's rights. */
  user?: string | null | undefined;
};

/** An endpoint, and the events to send to it. */
export type CreateWebhookInput = {
  /** Only events of this chain. */
  chainId?: string | null | undefined;
  /** Description, for people. */
  description?: string | null | undefined;
  /** Event names like `session.retry_exhausted`; a `*` at the end matches any rest: `session.retry_*`, `deployment.*`. */
  eventTypes: Array<string>;
  /** Only events of sessions and deployments that have all of these labels. */
  labels?: Array<LabelInput> | null | undefined;
  /** Project whose events to send. By default the token's project, or all projects if the token is for all. */
  project?: string | null | undefined;
  /** http:// or https://, with port 80, 443 or one above 1023. Private addresses are refused when it is sent to. */
  url: string;
};

/** All given conditions must match. */
export type DateTimeFilter = {
  /** Later than this. */
  gt?: string | null | undefined;
  /** At or after this. */
  gte?: string | null | undefined;
  /** Before this. */
  lt?: string | null | undefined;
  /** At or before this. */
  lte?: string | null | undefined;
};

/** Which webhook to delete. */
export type DeleteWebhookInput = {
  /** Which. */
  webhookId: string;
};

/** All given conditions must match. */
export type DeploymentEventFilter = {
  /** About this deployment and its routes. */
  deploymentId?: string | null | undefined;
  /** In the project of this name. */
  project?: string | null | undefined;
  /** With one of these values. */
  types?: Array<DeploymentEventType> | null | undefined;
};

/** Type of a deployment event: the event's name in upper case, without `deployment.`, and with `_` in place of the dot of `route.`. */
export type DeploymentEventType =
  /** It was created. */
  | 'CREATED'
  /** It is gone. */
  | 'DESTROYED'
  /** One of its routes is new or has changed its status. */
  | 'ROUTE_STATUS_CHANGED'
  /** The desired number of replicas changed. */
  | 'SCALED'
  /** Its status changed, and is not final. */
  | 'STATUS_CHANGED'
  /** It has another revision. */
  | 'UPDATED';

/** All given conditions must match. */
export type DeploymentFilter = {
  /** By when it was created. */
  createdAt?: DateTimeFilter | null | undefined;
  /** By name. */
  name?: StringFilter | null | undefined;
  /** In the project of this name. */
  project?: string | null | undefined;
  /** In one of these statuses. */
  status?: Array<DeploymentStatus> | null | undefined;
};

/** What to order deployments by. */
export type DeploymentOrder = {
  /** Which way. */
  direction?: OrderDirection | null | undefined;
  /** By what. */
  field: DeploymentOrderField;
};

/** By what deployments can be ordered. */
export type DeploymentOrderField =
  /** When it was created. */
  | 'CREATED_AT'
  /** By name, byte by byte. */
  | 'NAME'
  /** Since when it has its status. */
  | 'STATUS_CHANGED_AT';

/** Status of a deployment. DESTROYED is final. */
export type DeploymentStatus =
  /** As PENDING; no longer written. */
  | 'CREATED'
  /** As SCALING; no longer written. */
  | 'DEPLOYING'
  /** Gone. */
  | 'DESTROYED'
  /** Its routes are being terminated. */
  | 'DESTROYING'
  /** Just created. */
  | 'PENDING'
  /** It has the desired number of healthy routes of its revision, and no others. */
  | 'READY'
  /** It is moving to its number of replicas and its revision; `statusReason` says what it waits for. */
  | 'SCALING';

/** Which deployment to end. */
export type DestroyDeploymentInput = {
  /** Which. */
  deploymentId: string;
  /** Why, in your words. */
  reason?: string | null | undefined;
};

/** Which agent. */
export type DrainAgentInput = {
  /** Its id. */
  agentId: string;
  /** Why, for people. */
  reason?: string | null | undefined;
};

/** One variable of the environment. */
export type EnvVarInput = {
  /** Its name. */
  name: string;
  /** Its value. */
  value: string;
};

/** Why a session failed, as classified. */
export type FailureCause =
  /** Its agent was lost or restarted while it ran. */
  | 'AGENT_TRANSIENT'
  /** Its image could not be fetched. */
  | 'IMAGE_PULL_FAILURE'
  /** User code exited with a code other than 0, or ran into the batch timeout. */
  | 'KERNEL_NONZERO_EXIT'
  /** It used more memory than its slot allows, and was killed. */
  | 'OOM_KILLED'
  /** A quota forbade it. Never retried. */
  | 'QUOTA_EXCEEDED'
  /** The scheduler could not start it in time. */
  | 'SCHEDULER_TIMEOUT'
  /** Any other cause. */
  | 'UNKNOWN'
  /** A person terminated it. Never retried. */
  | 'USER_CANCELLED'
  /** It could never have run as specified. Never retried. */
  | 'VALIDATION_ERROR';

/** Missing fields stay as they are. */
export type HealthCheckChange = {
  /** Consecutive successes that make it healthy. */
  healthyThreshold?: number | null | undefined;
  /** Seconds from the start of user code to the first check. */
  initialDelay?: number | null | undefined;
  /** Seconds between two checks, at least 0.1. */
  interval?: number | null | undefined;
  /** The path to request. */
  path?: string | null | undefined;
  /** Seconds for which the result of a check counts. Null: three times the sum of interval and timeout. */
  staleAfter?: number | null | undefined;
  /** Timeout of a check in seconds, at least 0.05. */
  timeout?: number | null | undefined;
  /** Consecutive failures that make it unhealthy. */
  unhealthyThreshold?: number | null | undefined;
};

/** Health check of a route: an HTTP GET request, which succeeds with a status of 200 to 299. */
export type HealthCheckInput = {
  /** Consecutive successes that make it healthy. */
  healthyThreshold?: number | null | undefined;
  /** Seconds from the start of user code to the first check. */
  initialDelay?: number | null | undefined;
  /** Seconds between two checks, at least 0.1. */
  interval?: number | null | undefined;
  /** The path to request. */
  path?: string | null | undefined;
  /** Seconds for which the result of a check counts. Null: three times the sum of interval and timeout. */
  staleAfter?: number | null | undefined;
  /** Timeout of a check in seconds, at least 0.05. */
  timeout?: number | null | undefined;
  /** Consecutive failures that make it unhealthy. */
  unhealthyThreshold?: number | null | undefined;
};

/** Why a due retry is held. */
export type HoldReason =
  /** Retries are switched off here. */
  | 'DISABLED'
  /** The failed attempt may still run on a silent agent. */
  | 'PARENT_ALIVE'
  /** The limit of pending sessions is reached. */
  | 'QUOTA'
  /** The rate limit of retries is reached. */
  | 'RATE_LIMITED';

/** A range of whole numbers, ends included. */
export type IntRange = {
  /** At most this. */
  max?: number | null | undefined;
  /** At least this. */
  min?: number | null | undefined;
};

/** Status of a kernel, as for sessions. An agent may be ahead of the scheduler. */
export type KernelStatus =
  /** Ended before it was assigned to an agent. */
  | 'CANCELLED'
  /** Its agent starts it. */
  | 'CREATING'
  /** Ended: it failed. */
  | 'ERROR'
  /** Waits for an agent. */
  | 'PENDING'
  /** Ready to be created. */
  | 'PREPARED'
  /** Its agent prepares it. */
  | 'PREPARING'
  /** Its agent fetches the image. */
  | 'PULLING'
  /** User code runs. */
  | 'RUNNING'
  /** Its agent is chosen. */
  | 'SCHEDULED'
  /** Ended: user code exited, or was stopped. */
  | 'TERMINATED'
  /** It is being stopped. */
  | 'TERMINATING';

/** A label given by the client. */
export type LabelInput = {
  /** Its key, unique on the session. */
  key: string;
  /** Its value. */
  value: string;
};

/** Output stream of a process. */
export type LogStream =
  /** Its standard error. */
  | 'STDERR'
  /** Its standard output. */
  | 'STDOUT';

/** Which way. */
export type OrderDirection =
  /** Smallest, oldest first. */
  | 'ASC'
  /** Largest, newest first. */
  | 'DESC';

/** Whose sessions a quota limits. */
export type QuotaScope =
  /** Those of all projects of a domain. */
  | 'DOMAIN'
  /** Those of one project. */
  | 'PROJECT'
  /** Those that one user created, with their retries. */
  | 'USER';

/** A token bucket. */
export type RateLimitInput = {
  /** Size of a burst after a quiet period, 1 to 100000. */
  burst: number;
  /** Sustained rate per second, up to 100000. */
  perSecond: number;
};

/** The delivery to repeat. */
export type ReplayDeliveryInput = {
  /** Which. */
  deliveryId: string;
};

/** What to send again. */
export type ReplayWebhookInput = {
  /** Events from this moment on; at most 14 days ago. */
  since: string;
  /** To which webhook. */
  webhookId: string;
};

/** An amount of one resource, per kernel. */
export type ResourceSlotInput = {
  /** How much, as a decimal: `0.5`, `2`; bytes take k, m, g, t (binary): `2g`. */
  amount: string;
  /** Which: `cpu`, `mem`, `cuda.device`, … */
  slot: string;
};

/** Outcome for one session. */
export type ResubmissionItemStatus =
  /** It is done; a session that was resubmitted has a child. */
  | 'DONE'
  /** Not done yet; never done if the resubmission was aborted. */
  | 'PENDING'
  /** It was refused; `code` and `message` say why. */
  | 'REFUSED';

/** How the new attempts differ from the failed sessions. Overrides also apply to the automatic retries of the new epoch. */
export type ResubmissionOverrides = {
  /** The only agents to run on; replaces the existing list. An empty list removes the restriction. */
  allowAgents?: Array<string> | null | undefined;
  /** Agents to avoid if another fits; replaces those that retries have come to avoid. */
  avoidAgents?: Array<string> | null | undefined;
  /** Batch timeout in seconds; null removes it. */
  batchTimeout?: number | null | undefined;
  /** Variables by name; other variables stay. */
  environ?: Array<EnvVarInput> | null | undefined;
  /** Agents that must not run it; replaces those that retries have come to exclude. An empty list removes the restriction. */
  excludeAgents?: Array<string> | null | undefined;
  /** 0 to 100; the higher goes first. */
  priority?: number | null | undefined;
  /** Name of the resource group to run in. */
  resourceGroup?: string | null | undefined;
  /** Amounts by slot; other slots stay. 0 removes a slot. */
  resourceSlots?: Array<ResourceSlotInput> | null | undefined;
  /** Fields of the retry policy; missing fields stay as resolved. */
  retryPolicy?: RetryPolicyInput | null | undefined;
  /** Secret variables by name; other variables stay. A variable of either kind replaces one of the other. */
  secretEnviron?: Array<EnvVarInput> | null | undefined;
};

/** State of a resubmission. */
export type ResubmissionState =
  /** A person aborted it; what was done before stays. */
  | 'ABORTED'
  /** Everything is done or refused. */
  | 'COMPLETED'
  /** Not finished; the server continues by itself. */
  | 'RUNNING';

/** Which sessions get a new budget, and what is changed. Either `sessionIds` or `filter`. */
export type ResubmitSessionsInput = {
  /** Idempotency key chosen by the client, unique in the project: the same key returns the first call’s resubmission. */
  clientKey?: string | null | undefined;
  /** True: nothing is done or recorded; the answer says to how many it would be. */
  dryRun?: boolean | null | undefined;
  /** The sessions that match now, at most 100000. What matches later is not among them; an empty filter is refused. */
  filter?: SessionFilter | null | undefined;
  /** True: sessions that succeeded are run again as well. Otherwise they are refused. */
  includeSucceeded?: boolean | null | undefined;
  /** What is changed. */
  overrides?: ResubmissionOverrides | null | undefined;
  /** These sessions; at most 100000. */
  sessionIds?: Array<string> | null | undefined;
};

/** Which agent. */
export type ResumeAgentInput = {
  /** Its id. */
  agentId: string;
  /** Why, for people. */
  reason?: string | null | undefined;
};

/** What the retry avoids: it is used all the same if there is no other. */
export type RetryAvoidance =
  /** The agents on which the attempt failed. */
  | 'AGENT'
  /** The resource group in which the attempt failed. */
  | 'RESOURCE_GROUP';

/** How delays grow from retry to retry. */
export type RetryBackoff =
  /** Delays grow by `backoffMultiplier` each time, up to `maxRetryDelay`. */
  | 'EXPONENTIAL'
  /** All delays are the same. */
  | 'FIXED';

/** All given conditions must match. */
export type RetryDecisionFilter = {
  /** Failed for one of these causes. */
  cause?: Array<FailureCause> | null | undefined;
  /** In this chain. */
  chainId?: string | null | undefined;
  /** By when it was decided. */
  decidedAt?: DateTimeFilter | null | undefined;
  /** By when the retry is due. */
  dueAt?: DateTimeFilter | null | undefined;
  /** Held for one of these reasons. */
  holdReason?: Array<HoldReason> | null | undefined;
  /** In one of these phases. */
  phase?: Array<RetryPhase> | null | undefined;
  /** In the project of this name. */
  project?: string | null | undefined;
  /** Of this session. */
  sessionId?: string | null | undefined;
};

/** All given conditions must match. */
export type RetryEventFilter = {
  /** In this chain. */
  chainId?: string | null | undefined;
  /** In the project of this name. */
  project?: string | null | undefined;
  /** About this session. */
  sessionId?: string | null | undefined;
  /** With one of these values. */
  types?: Array<RetryEventType> | null | undefined;
};

/** What happened to a retry. */
export type RetryEventType =
  /** A person cancelled a scheduled or held retry. */
  | 'RETRY_CANCELLED'
  /** The child session was created. */
  | 'RETRY_DISPATCHED'
  /** The last retry failed. */
  | 'RETRY_EXHAUSTED'
  /** A retry is due but held. */
  | 'RETRY_HELD'
  /** An attempt failed; a retry is waiting for its delay to pass. */
  | 'RETRY_SCHEDULED'
  /** A retry succeeded. */
  | 'RETRY_SUCCEEDED';

/** What the retry excludes: it waits rather than go there. */
export type RetryExclusion =
  /** The agents on which the attempt failed. */
  | 'AGENT';

/** How delays are spread, so that sessions that failed together do not return together. */
export type RetryJitter =
  /** The whole delay at random, from `retryDelay` to three times the delay before; `backoff` has no effect. */
  | 'DECORRELATED'
  /** By a hash of the session: the same session always has the same delay. */
  | 'DETERMINISTIC'
  /** The whole delay at random, from 0 to what it would be without jitter. */
  | 'FULL'
  /** Not at all. */
  | 'NONE'
  /** At random. */
  | 'RANDOM';

/** The retry to make due now. */
export type RetryNowInput = {
  /** The session that failed. */
  sessionId: string;
};

/** Whose retries are made due now. Either `sessionIds` or `filter`. */
export type RetryNowManyInput = {
  /** Idempotency key chosen by the client, unique in the project: the same key returns the first call’s resubmission. */
  clientKey?: string | null | undefined;
  /** True: nothing is done or recorded; the answer says to how many it would be. */
  dryRun?: boolean | null | undefined;
  /** The sessions that match now, at most 100000. What matches later is not among them; an empty filter is refused. */
  filter?: SessionFilter | null | undefined;
  /** These sessions; at most 100000. */
  sessionIds?: Array<string> | null | undefined;
};

/** Phase of a session's retry. */
export type RetryPhase =
  /** A person cancelled the retry. */
  | 'CANCELLED'
  /** The child session exists. */
  | 'DISPATCHED'
  /** It failed, and all its retries are used up. */
  | 'EXHAUSTED'
  /** A retry is due but held. */
  | 'HELD'
  /** It has no retries. */
  | 'NONE'
  /** It failed in a way that is not retried. */
  | 'NOT_ELIGIBLE'
  /** A retry will be dispatched when its delay is over. */
  | 'SCHEDULED'
  /** It succeeded, so there is nothing to retry. */
  | 'SUCCEEDED'
  /** The session has not ended, or the decision is about to be made. */
  | 'UNDECIDED';

/** How a session is retried. Durations are seconds. Missing fields come from the defaults of project, domain and cluster, in this order. */
export type RetryPolicyInput = {
  /** How delays grow. */
  backoff?: RetryBackoff | null | undefined;
  /** Factor by which delays grow, if they do; more than 0. */
  backoffMultiplier?: number | null | undefined;
  /** False: an attempt that failed before user code started does not use up `maxRetries`. */
  countPreStartFailures?: boolean | null | undefined;
  /** Failures that are retried. */
  eligibleCauses?: Array<FailureCause> | null | undefined;
  /** False: no retry events. Decisions are stored all the same. */
  emitRetryEvents?: boolean | null | undefined;
  /** How delays are spread. */
  jitter?: RetryJitter | null | undefined;
  /** Maximum jitter of DETERMINISTIC and RANDOM as a share of the delay, 0 to 1. */
  jitterRatio?: number | null | undefined;
  /** No retry starts later than this after the first attempt was created. Null means no limit. */
  maxElapsed?: number | null | undefined;
  /** 0 to 100. Total attempts are one more. 0 means no retries, whatever the defaults say. */
  maxRetries?: number | null | undefined;
  /** Longest delay. Null means the absolute ceiling, 86400. */
  maxRetryDelay?: number | null | undefined;
  /** 0 to 100: limit on retries that do not use up `maxRetries`. */
  maxUncountedRetries?: number | null | undefined;
  /** Supplies the fields that are missing here. The fields are stored, not the preset's name. */
  preset?: RetryPolicyPreset | null | undefined;
  /** The first delay, more than 0. */
  retryDelay?: number | null | undefined;
  /** At most 20, in order; the first that matches decides. */
  rules?: Array<RetryRuleInput> | null | undefined;
  /** True: what a program asks for in its verdict file is followed. */
  trustVerdicts?: boolean | null | undefined;
};

/** Where a field of a policy may come from, strongest first. */
export type RetryPolicyLayer =
  /** The cluster's defaults. */
  | 'CLUSTER'
  /** The domain's defaults. */
  | 'DOMAIN'
  /** The project's defaults. */
  | 'PROJECT'
  /** The session itself, when it was created or resubmitted. */
  | 'SESSION'
  /** The built-in default. */
  | 'SHIPPED';

/** Policies to start from. */
export type RetryPolicyPreset =
  /** Ten attempts, 900 s apart, of the exit codes that CMS grid jobs recover from, with more memory, more time or in another resource group where that helps; every other exit code is final. */
  | 'CMS_EXIT_CODES';

/** What a matching rule does. */
export type RetryRuleAction =
  /** Does not retry. */
  | 'FAIL'
  /** Retries, whatever `eligibleCauses` says. */
  | 'RETRY'
  /** Retries without using up `maxRetries`. */
  | 'RETRY_UNCOUNTED';

/** What to do about failures of one kind. */
export type RetryRuleInput = {
  /** What to do. */
  action: RetryRuleAction;
  /** What the retry avoids, as long as there is another place. */
  avoid?: RetryAvoidance | null | undefined;
  /** Base delay in seconds, in place of the formula's. */
  delay?: number | null | undefined;
  /** What the retry excludes, even if it has to wait. */
  exclude?: RetryExclusion | null | undefined;
  /** Which failures. */
  match: RetryRuleMatchInput;
  /** Slots that grow. */
  scaleResources?: Array<RetrySlotGrowthInput> | null | undefined;
  /** Growth of the batch timeout. */
  scaleTimeout?: RetryTimeoutGrowthInput | null | undefined;
};

/** Conditions of a rule. All given conditions must match. */
export type RetryRuleMatchInput = {
  /** One of these causes. */
  causes?: Array<FailureCause> | null | undefined;
  /** One of these exit codes. */
  exitCodes?: Array<number | string> | null | undefined;
  /** An exit code, but none of these. */
  exitCodesNotIn?: Array<number | string> | null | undefined;
  /** A reason like this, with `*` and `?`. */
  reason?: string | null | undefined;
};

/** Where something about retries is set. */
export type RetryScope =
  /** For everything. */
  | 'CLUSTER'
  /** For all projects of a domain. */
  | 'DOMAIN'
  /** For one project. */
  | 'PROJECT';

/** How a slot grows from attempt to attempt. It never shrinks. */
export type RetrySlotGrowthInput = {
  /** The factor. */
  factor: number;
  /** Upper limit; bytes take k, m, g, t. */
  max?: string | null | undefined;
  /** Which slot. */
  slot: string;
};

/** How the batch timeout grows from attempt to attempt. It never shrinks. */
export type RetryTimeoutGrowthInput = {
  /** The factor. */
  factor: number;
  /** Upper limit, in seconds. */
  max?: number | null | undefined;
};

/** A token to revoke. */
export type RevokeTokenInput = {
  /** Which. */
  tokenId: string;
};

/** Which secret to replace. */
export type RotateWebhookSecretInput = {
  /** For how long requests are also signed with the old secret: a day by default, at most 7 days. */
  overlapSeconds?: number | null | undefined;
  /** Of which webhook. */
  webhookId: string;
};

/** Status of a route. TERMINATED is final. */
export type RouteStatus =
  /** Its session runs, but there is no recent check result. */
  | 'DEGRADED'
  /** Its session ended, or did not start to serve in time; it is replaced. */
  | 'FAILED_TO_START'
  /** It passes its checks and is listed by service discovery. */
  | 'HEALTHY'
  /** Its session is being started. */
  | 'PROVISIONING'
  /** Gone. */
  | 'TERMINATED'
  /** Clients are no longer sent to it; its session ends after the drain. */
  | 'TERMINATING'
  /** It fails its checks, and is replaced if that lasts. */
  | 'UNHEALTHY';

/** The desired number of replicas. Missing fields stay as they are. */
export type ScaleDeploymentInput = {
  /** Which. */
  deploymentId: string;
  /** Maximum number of extra replicas during an update. Null: a quarter of the replicas, rounded up. */
  maxSurge?: number | null | undefined;
  /** Minimum number of healthy replicas during an update. Null: three quarters of the replicas, rounded up. */
  minHealthy?: number | null | undefined;
  /** Desired number of healthy routes. */
  replicas?: number | null | undefined;
};

/** How one try of a handler was judged. */
export type SchedulingResult =
  /** It was in its status for longer than its resource group allows. */
  | 'EXPIRED'
  /** It failed; another path follows. */
  | 'FAILURE'
  /** It failed too often. */
  | 'GIVE_UP'
  /** It failed and is tried again. */
  | 'NEED_RETRY'
  /** It was skipped: `message` says what it waits for. */
  | 'SKIPPED'
  /** The information about it was too old. */
  | 'STALE'
  /** It succeeded. */
  | 'SUCCESS';

/** Which webhook to test. */
export type SendTestEventInput = {
  /** Which. */
  webhookId: string;
};

/** In which order sessions of the same priority are scheduled. */
export type Sequencer =
  /** First the session whose user (or project, if it has no user) has the smallest dominant share of the group. */
  | 'DRF'
  /** The oldest first. */
  | 'FIFO'
  /** The newest first. */
  | 'LIFO';

/** What a person can do with a session. */
export type SessionAction =
  /** `cancelRetry`. */
  | 'CANCEL_RETRY'
  /** `resubmitSessions`, without overrides. */
  | 'RESUBMIT'
  /** `retryNow`. */
  | 'RETRY_NOW'
  /** `terminateSession`. */
  | 'TERMINATE';

/** All given conditions must match. */
export type SessionEventFilter = {
  /** In this chain. */
  chainId?: string | null | undefined;
  /** In one of these chains, at most 200. */
  chainIds?: Array<string> | null | undefined;
  /** In the project of this name. */
  project?: string | null | undefined;
  /** About this session. */
  sessionId?: string | null | undefined;
  /** With one of these values. */
  types?: Array<SessionEventType> | null | undefined;
};

/** Type of a session event: the event's name in upper case, without `session.`. */
export type SessionEventType =
  /** It ended before it started. */
  | 'CANCELLED'
  /** A person ended it before it had a result, and with it its chain. */
  | 'CHAIN_CANCELLED'
  /** It failed, and no automatic attempt will follow. Once an epoch. */
  | 'CHAIN_FAILED'
  /** It is the first attempt of a new epoch: its chain was resubmitted, by whom the reason says. */
  | 'CHAIN_REOPENED'
  /** It succeeded, and with it its chain. */
  | 'CHAIN_SUCCEEDED'
  /** It was created. */
  | 'CREATED'
  /** It ended: it failed. */
  | 'ERROR'
  /** A person cancelled its retry. */
  | 'RETRY_CANCELLED'
  /** Its child session was created. */
  | 'RETRY_DISPATCHED'
  /** It failed, and was the last retry. */
  | 'RETRY_EXHAUSTED'
  /** Its retry is due but held. */
  | 'RETRY_HELD'
  /** It failed; a retry is waiting for its delay to pass. */
  | 'RETRY_SCHEDULED'
  /** It is a retry, and it succeeded. */
  | 'RETRY_SUCCEEDED'
  /** Its status changed, and is not final. */
  | 'STATUS_CHANGED'
  /** It ended: it succeeded, or a person terminated it. */
  | 'TERMINATED';

/** All given conditions must match. */
export type SessionFilter = {
  /** All of these match. */
  AND?: Array<SessionFilter> | null | undefined;
  /** This does not match. */
  NOT?: SessionFilter | null | undefined;
  /** At least one of these matches. */
  OR?: Array<SessionFilter> | null | undefined;
  /** With a kernel that is, or was, on the agent of this id. */
  agent?: string | null | undefined;
  /** In this chain. */
  chainId?: string | null | undefined;
  /** By when it was created. */
  createdAt?: DateTimeFilter | null | undefined;
  /** That start only once this chain has succeeded. */
  dependsOn?: string | null | undefined;
  /** Failed for one of these causes. */
  failureCause?: Array<FailureCause> | null | undefined;
  /** Whose id begins so: its first 8 hexadecimal digits, or more of it. */
  idPrefix?: string | null | undefined;
  /** With this label. */
  label?: LabelInput | null | undefined;
  /** By `maxRetries`. */
  maxRetries?: IntRange | null | undefined;
  /** By name. */
  name?: StringFilter | null | undefined;
  /** Of one of these origins. */
  origin?: Array<SessionOrigin> | null | undefined;
  /** The attempt after this one. */
  parentSessionId?: string | null | undefined;
  /** In the project of this name. */
  project?: string | null | undefined;
  /** In the resource group of this name. */
  resourceGroup?: string | null | undefined;
  /** With one of these results. */
  result?: Array<SessionResult> | null | undefined;
  /** By `retryCount`. */
  retryCount?: IntRange | null | undefined;
  /** With `retryState.phase` in one of these. */
  retryPhase?: Array<RetryPhase> | null | undefined;
  /** Of one of these types. */
  sessionType?: Array<SessionType> | null | undefined;
  /** In one of these statuses. */
  status?: Array<SessionStatus> | null | undefined;
};

/** One thing to order by. */
export type SessionOrder = {
  /** Which way. */
  direction?: OrderDirection | null | undefined;
  /** By what. */
  field: SessionOrderField;
};

/** By what sessions can be ordered. */
export type SessionOrderField =
  /** By its place in its chain. */
  | 'ATTEMPT'
  /** When it was created. */
  | 'CREATED_AT'
  /** By name, byte by byte. */
  | 'NAME'
  /** By priority. */
  | 'PRIORITY'
  /** Since when it has its status. */
  | 'STATUS_CHANGED_AT';

/** Why a session exists. */
export type SessionOrigin =
  /** A retry policy created it after its parent failed. */
  | 'AUTO_RETRY'
  /** A client created it. */
  | 'INITIAL'
  /** A person resubmitted its parent. */
  | 'RESUBMISSION';

/** Result of a session. */
export type SessionResult =
  /** It failed; `failureCause` says why. */
  | 'FAILURE'
  /** Its main kernel ended by itself with exit code 0. */
  | 'SUCCESS'
  /** Not known: it has not ended, or a person terminated it. */
  | 'UNDEFINED';

/** Status of a session. TERMINATED, ERROR and CANCELLED are final. */
export type SessionStatus =
  /** Ended before it started. */
  | 'CANCELLED'
  /** Agents start its kernels. */
  | 'CREATING'
  /** Ended: it failed. */
  | 'ERROR'
  /** Waits to be placed on agents. */
  | 'PENDING'
  /** All kernels are ready to be created. */
  | 'PREPARED'
  /** Agents prepare its kernels. */
  | 'PREPARING'
  /** An agent fetches the image. */
  | 'PULLING'
  /** User code runs. */
  | 'RUNNING'
  /** Agents are chosen, their resources reserved. */
  | 'SCHEDULED'
  /** Ended: it succeeded, or a person terminated it. */
  | 'TERMINATED'
  /** Its kernels are being stopped, or have ended. */
  | 'TERMINATING';

/** What a session is for. */
export type SessionType =
  /** Runs a command to its end. The only type that is retried. */
  | 'BATCH'
  /** One replica of a deployment. */
  | 'INFERENCE'
  /** Serves a person until it is terminated. */
  | 'INTERACTIVE';

/** What to change. Missing fields stay as they are; null removes a limit. */
export type SetQuotaInput = {
  /** Limit on sessions PENDING at once. */
  maxPending?: number | null | undefined;
  /** Limit on sessions placed at once. */
  maxRunning?: number | null | undefined;
  /** Of the user, project or domain. */
  name: string;
  /** Of what kind it is. */
  scope: QuotaScope;
  /** Limit on what all kernels together may hold. Replaces the earlier limits; 0 allows none of a slot. */
  slots?: Array<ResourceSlotInput> | null | undefined;
};

/** Retry policy defaults of a scope. */
export type SetRetryDefaultsInput = {
  /** Of the domain or project; nothing for the cluster. */
  name?: string | null | undefined;
  /** Replaces what was set there. Null clears it. */
  policy?: RetryPolicyInput | null | undefined;
  /** Where. */
  scope: RetryScope;
};

/** What to change. Missing fields stay as they are. */
export type SetRetrySwitchInput = {
  /** Whether due retries are held. False releases them gradually. */
  disabled?: boolean | null | undefined;
  /** Of the domain or project; nothing for the cluster. */
  name?: string | null | undefined;
  /** Retries beyond it are held until the rate allows them. Null removes the limit. */
  rateLimit?: RateLimitInput | null | undefined;
  /** Where. */
  scope: RetryScope;
  /** When this change reverts by itself. If missing, it is permanent. */
  until?: string | null | undefined;
};

/** All given conditions must match. Case matters. */
export type StringFilter = {
  /** Contains this. */
  contains?: string | null | undefined;
  /** Ends with this. */
  endsWith?: string | null | undefined;
  /** Exactly this. */
  equals?: string | null | undefined;
  /** Exactly one of these. */
  in?: Array<string> | null | undefined;
  /** Starts with this. */
  startsWith?: string | null | undefined;
};

/** Which session to end, and how. */
export type TerminateSessionInput = {
  /** Kill its kernels at once, without the time to clean up. */
  force?: boolean | null | undefined;
  /** Why, in your words. */
  reason?: string | null | undefined;
  /** Which. */
  sessionId: string;
};

/** Which sessions are terminated. Either `sessionIds` or `filter`. */
export type TerminateSessionsInput = {
  /** Idempotency key chosen by the client, unique in the project: the same key returns the first call’s resubmission. */
  clientKey?: string | null | undefined;
  /** True: nothing is done or recorded; the answer says to how many it would be. */
  dryRun?: boolean | null | undefined;
  /** The sessions that match now, at most 100000. What matches later is not among them; an empty filter is refused. */
  filter?: SessionFilter | null | undefined;
  /** Kills their kernels without a grace period. */
  force?: boolean | null | undefined;
  /** Why, for people. */
  reason?: string | null | undefined;
  /** These sessions; at most 100000. */
  sessionIds?: Array<string> | null | undefined;
};

/** What a token may do. */
export type TokenRole =
  /** Everything, in its project or in all. */
  | 'ADMIN'
  /** Runs kernels, and reads nothing here. */
  | 'AGENT'
  /** Reads and changes the sessions of its project. */
  | 'MEMBER'
  /** Reads service discovery, of its project or of all, and without a project `/metrics`; nothing else. */
  | 'METRICS'
  /** Reads its project, except for the values of environment variables. */
  | 'VIEWER';

/** What to change in the specification of its routes. Missing fields stay as they are. */
export type UpdateDeploymentInput = {
  /** All labels that an agent must have to run a route. */
  agentLabels?: Array<LabelInput> | null | undefined;
  /** The program and its arguments. */
  command?: Array<string> | null | undefined;
  /** Which. */
  deploymentId: string;
  /** Seconds between removing a route from service discovery and stopping its program. */
  drain?: number | null | undefined;
  /** Its whole environment, apart from the variables set by Reprise. */
  environ?: Array<EnvVarInput> | null | undefined;
  /** How long an unhealthy route may take to recover, in seconds. */
  evictAfter?: number | null | undefined;
  /** How the health of its routes is checked. */
  healthCheck?: HealthCheckChange | null | undefined;
  /** Preset of environment and interpreter for its program. Null: none. */
  image?: string | null | undefined;
  /** All labels of your choice. */
  labels?: Array<LabelInput> | null | undefined;
  /** The environment variable that gives the program its port. */
  portVariable?: string | null | undefined;
  /** 0 to 100; the higher goes first. */
  priority?: number | null | undefined;
  /** Name of the resource group for its routes. */
  resourceGroup?: string | null | undefined;
  /** All resources of each route. */
  resourceSlots?: Array<ResourceSlotInput> | null | undefined;
  /** All secret variables, as for `createDeployment`; missing: as they are. */
  secretEnviron?: Array<EnvVarInput> | null | undefined;
  /** Seconds from the creation of a route to its first successful check. */
  startTimeout?: number | null | undefined;
};

/** The policy of a retry that waits, changed. */
export type UpdateRetryInput = {
  /** Its fields replace those of the session's policy; missing fields stay as they are. */
  policy: RetryPolicyInput;
  /** The session that failed. */
  sessionId: string;
};

/** What to change. Missing fields stay as they are. */
export type UpdateWebhookInput = {
  /** Only events of this chain. Null: of all chains. */
  chainId?: string | null | undefined;
  /** What it is for. Null clears it. */
  description?: string | null | undefined;
  /** While it is disabled, nothing is sent and no new deliveries are stored. Waiting deliveries continue when it is enabled again; `replayWebhook` sends the rest. */
  enabled?: boolean | null | undefined;
  /** Event names like `session.retry_exhausted`; a `*` at the end matches any rest: `session.retry_*`, `deployment.*`. */
  eventTypes?: Array<string> | null | undefined;
  /** Only events of sessions and deployments that have all of these labels. Null: of all. */
  labels?: Array<LabelInput> | null | undefined;
  /** The endpoint; waiting deliveries go there, too. */
  url?: string | null | undefined;
  /** Which. */
  webhookId: string;
};

/** Status of a delivery. */
export type WebhookDeliveryStatus =
  /** The endpoint answered with a status of 200 to 299. */
  | 'DELIVERED'
  /** All scheduled attempts failed, or the endpoint is gone. */
  | 'FAILED'
  /** It waits for its next attempt, or one is in progress. */
  | 'PENDING';

export type AgentsQueryVariables = Exact<{
  filter?: AgentFilter | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type AgentsQuery = { agents: { pageInfo: { hasNextPage: boolean, endCursor: string | null }, edges: Array<{ cursor: string, node: { agentId: string, name: string, status: AgentStatus, isolation: string | null, version: string, registeredAt: string, lastHeardAt: string, resourceGroup: { name: string }, slots: Array<{ slot: string, capacity: string, used: string }>, labels: Array<{ key: string, value: string }> } }> } };

export type ResourceGroupsQueryVariables = Exact<{ [key: string]: never; }>;


export type ResourceGroupsQuery = { resourceGroups: Array<{ name: string, selector: AgentSelector, sequencer: Sequencer, maxTries: number, maxReschedules: number, pendingTimeout: number | null, prepareTimeout: number | null, createTimeout: number | null, terminateTimeout: number, fenceAfter: number }> };

export type ProjectsQueryVariables = Exact<{
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type ProjectsQuery = { projects: { pageInfo: { hasNextPage: boolean, endCursor: string | null }, edges: Array<{ cursor: string, node: { projectId: string, name: string, domain: string, createdAt: string } }> } };

export type DrainAgentMutationVariables = Exact<{
  input: DrainAgentInput;
}>;


export type DrainAgentMutation = { drainAgent:
    | { __typename: 'DrainAgentPayload', agent: { agentId: string, name: string, status: AgentStatus } }
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'InvalidStateError' }
      & Failure_InvalidStateError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type ResumeAgentMutationVariables = Exact<{
  input: ResumeAgentInput;
}>;


export type ResumeAgentMutation = { resumeAgent:
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'InvalidStateError' }
      & Failure_InvalidStateError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'ResumeAgentPayload', agent: { agentId: string, name: string, status: AgentStatus } }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type AuditLogQueryVariables = Exact<{
  filter?: AuditFilter | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type AuditLogQuery = { auditLog: { pageInfo: { hasNextPage: boolean, endCursor: string | null }, edges: Array<{ cursor: string, node: { entryId: string, at: string, actor: string, tokenId: string | null, userId: string | null, requestId: string | null, address: string | null, action: string, projectId: string | null, sessionId: string | null, details: string } }> } | null };

export type ChainsQueryVariables = Exact<{
  filter?: ChainFilter | null | undefined;
  orderBy?: ChainOrder | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type ChainsQuery = { chains: { pageInfo: { hasNextPage: boolean, endCursor: string | null }, edges: Array<{ cursor: string, node: { chainId: string, name: string, state: ChainState, cause: FailureCause | null, attempts: number, failureCount: number, runningSeconds: number, waitingSeconds: number, totalSeconds: number, createdAt: string, newestActivityAt: string, endedAt: string | null, project: { name: string }, outlook: { willRetry: boolean, at: string | null, reason: string }, newestAttempt: { sessionId: string } } }> } };

export type ChainCountsQueryVariables = Exact<{
  filter?: ChainFilter | null | undefined;
}>;


export type ChainCountsQuery = { chains: { counts: Array<{ state: ChainState, count: number, isExact: boolean }> } };

export type ChainTimelineQueryVariables = Exact<{
  sessionId: string;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type ChainTimelineQuery = { chain: { timeline: { pageInfo: { hasNextPage: boolean, endCursor: string | null }, edges: Array<{ node: { kind: ChainSegmentKind, from: string, to: string | null, attempt: number, epoch: number, cause: FailureCause | null, holdReason: HoldReason | null, reason: string | null, session: { sessionId: string } | null } }> } } | null };

export type DeploymentSummaryFragment = { deploymentId: string, creationId: string, name: string, status: DeploymentStatus, statusReason: string | null, settled: boolean, replicas: number, minHealthy: number, maxSurge: number, healthyReplicas: number, createdAt: string, destroyedAt: string | null, project: { name: string }, revision: { number: number, image: string | null, command: Array<string>, resourceGroup: string, labels: Array<{ key: string, value: string }> }, endpoints: Array<{ host: string, port: number, url: string }> };

export type DeploymentDetailFragment = (
  { statusChangedAt: string, createdBy: string | null, failures: number, nextRouteAt: string | null, routeCounts: Array<{ status: RouteStatus, count: number }>, revision: { secretEnviron: Array<string>, priority: number, portVariable: string, startTimeout: number, evictAfter: number, drain: number, createdAt: string, environ: Array<{ name: string, value: string }>, resourceSlots: Array<{ slot: string, amount: string }>, agentLabels: Array<{ key: string, value: string }>, healthCheck: { path: string, interval: number, timeout: number, healthyThreshold: number, unhealthyThreshold: number, initialDelay: number, staleAfter: number } }, routes: { edges: Array<{ node: { routeId: string, status: RouteStatus, statusReason: string | null, statusChangedAt: string, host: string | null, port: number | null, lastCheckFault: string | null, createdAt: string, revision: { number: number }, session: { sessionId: string, pendingReason: string | null } } }> } }
  & DeploymentSummaryFragment
);

export type DeploymentQueryVariables = Exact<{
  id: string;
}>;


export type DeploymentQuery = { deployment: DeploymentDetailFragment | null };

export type DeploymentsQueryVariables = Exact<{
  filter?: DeploymentFilter | null | undefined;
  orderBy?: DeploymentOrder | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type DeploymentsQuery = { deployments: { pageInfo: { hasNextPage: boolean, endCursor: string | null }, edges: Array<{ cursor: string, node: DeploymentSummaryFragment }> } };

export type CreateDeploymentMutationVariables = Exact<{
  input: CreateDeploymentInput;
}>;


export type CreateDeploymentMutation = { createDeployment:
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | { __typename: 'CreateDeploymentPayload', created: boolean, deployment: DeploymentSummaryFragment }
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | (
      { __typename: 'QuotaExceededError' }
      & Failure_QuotaExceededError_Fragment
    )
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type ScaleDeploymentMutationVariables = Exact<{
  input: ScaleDeploymentInput;
}>;


export type ScaleDeploymentMutation = { scaleDeployment:
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'InvalidStateError' }
      & Failure_InvalidStateError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'ScaleDeploymentPayload', deployment: DeploymentSummaryFragment }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type UpdateDeploymentMutationVariables = Exact<{
  input: UpdateDeploymentInput;
}>;


export type UpdateDeploymentMutation = { updateDeployment:
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'InvalidStateError' }
      & Failure_InvalidStateError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'UpdateDeploymentPayload', deployment: DeploymentSummaryFragment }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type DestroyDeploymentMutationVariables = Exact<{
  input: DestroyDeploymentInput;
}>;


export type DestroyDeploymentMutation = { destroyDeployment:
    | { __typename: 'DestroyDeploymentPayload', deployment: DeploymentSummaryFragment }
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'InvalidStateError' }
      & Failure_InvalidStateError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type DeploymentEventsSubscriptionVariables = Exact<{
  filter?: DeploymentEventFilter | null | undefined;
  after?: string | null | undefined;
}>;


export type DeploymentEventsSubscription = { deploymentEvents: { cursor: string, type: DeploymentEventType, occurredAt: string, deploymentId: string, routeId: string | null, sessionId: string | null, fromStatus: string | null, toStatus: string | null, fromReplicas: number | null, toReplicas: number | null, fromRevision: number | null, revision: number | null, host: string | null, port: number | null, reason: string | null, deployment: { name: string } } };

export type EventCursorQueryVariables = Exact<{ [key: string]: never; }>;


export type EventCursorQuery = { eventCursor: string };

export type RetryEventsSubscriptionVariables = Exact<{
  filter?: RetryEventFilter | null | undefined;
  after?: string | null | undefined;
}>;


export type RetryEventsSubscription = { retryEvents: { cursor: string, type: RetryEventType, occurredAt: string, sessionId: string, chainId: string, attempt: number, maxAttempts: number, cause: FailureCause | null, delaySeconds: number | null, scheduledAt: string | null, childSessionId: string | null, reason: string | null } };

export type EventFieldsFragment = { cursor: string, type: SessionEventType, occurredAt: string, sessionId: string, chainId: string, fromStatus: SessionStatus | null, toStatus: SessionStatus | null, reason: string | null, chainEnd: { epoch: number, attempts: number, cause: FailureCause | null, runningSeconds: number, waitingSeconds: number } | null };

export type SessionEventsSubscriptionVariables = Exact<{
  filter?: SessionEventFilter | null | undefined;
  after?: string | null | undefined;
}>;


export type SessionEventsSubscription = { sessionEvents: EventFieldsFragment };

export type EventsQueryVariables = Exact<{
  filter?: SessionEventFilter | null | undefined;
  last?: number | null | undefined;
  before?: string | null | undefined;
}>;


export type EventsQuery = { events: { pageInfo: { hasPreviousPage: boolean, startCursor: string | null, endCursor: string | null }, edges: Array<{ node: EventFieldsFragment }> } };

export type KernelLogsSubscriptionVariables = Exact<{
  kernelId: string;
  after?: string | null | undefined;
}>;


export type KernelLogsSubscription = { kernelLogs: { cursor: string, stream: LogStream, text: string, at: string } };

type Failure_ConflictError_Fragment = { __typename: 'ConflictError', code: string, message: string };

type Failure_ForbiddenError_Fragment = { __typename: 'ForbiddenError', code: string, message: string };

type Failure_InvalidStateError_Fragment = { __typename: 'InvalidStateError', code: string, message: string };

type Failure_NotFoundError_Fragment = { __typename: 'NotFoundError', code: string, message: string };

type Failure_QuotaExceededError_Fragment = { __typename: 'QuotaExceededError', code: string, message: string };

type Failure_ValidationError_Fragment = { __typename: 'ValidationError', code: string, message: string, issues: Array<{ path: string, message: string }> };

export type FailureFragment =
  | Failure_ConflictError_Fragment
  | Failure_ForbiddenError_Fragment
  | Failure_InvalidStateError_Fragment
  | Failure_NotFoundError_Fragment
  | Failure_QuotaExceededError_Fragment
  | Failure_ValidationError_Fragment
;

export type SessionSummaryFragment = { sessionId: string, creationId: string, name: string, sessionType: SessionType, status: SessionStatus, result: SessionResult, statusReason: string | null, pendingReason: string | null, exitCode: number | null, failureCause: FailureCause | null, chainId: string, attempt: number, epoch: number, origin: SessionOrigin, retryCount: number, maxRetries: number, retryCause: FailureCause | null, priority: number, createdAt: string, startedAt: string | null, terminatedAt: string | null, statusChangedAt: string, project: { name: string }, resourceGroup: { name: string }, labels: Array<{ key: string, value: string }>, retryState: { phase: RetryPhase, attempt: number, maxAttempts: number, label: string, reason: string | null, scheduledAt: string | null, delaySeconds: number | null } };

export type KernelSummaryFragment = { id: string, kernelId: string, role: string, index: number, status: KernelStatus, exitCode: number | null, oomKilled: boolean, reason: string | null, startedAt: string | null, terminatedAt: string | null, agent: { agentId: string, name: string } | null };

export type DecisionFragment = { sessionId: string, chainId: string, phase: RetryPhase, cause: FailureCause | null, matchedRule: number | null, counted: boolean, explanation: string, baseDelaySeconds: number | null, jitterSeconds: number | null, delaySeconds: number | null, dueAt: string | null, holdReason: HoldReason | null, decidedAt: string, dispatchedAt: string | null, childSession: { sessionId: string } | null };

export type AttemptFragment = (
  { parentSession: { sessionId: string } | null, kernels: Array<KernelSummaryFragment>, retryDecision: DecisionFragment | null }
  & SessionSummaryFragment
);

export type PolicyFragment = { maxRetries: number, retryDelay: number, backoff: RetryBackoff, backoffMultiplier: number, maxRetryDelay: number | null, jitter: RetryJitter, jitterRatio: number, eligibleCauses: Array<FailureCause>, emitRetryEvents: boolean, maxElapsed: number | null, countPreStartFailures: boolean, maxUncountedRetries: number, trustVerdicts: boolean, rules: Array<RuleFragment>, sources: Array<{ field: string, source: RetryPolicyLayer }> };

export type PartialPolicyFragment = { given: Array<string>, maxRetries: number | null, retryDelay: number | null, backoff: RetryBackoff | null, backoffMultiplier: number | null, maxRetryDelay: number | null, jitter: RetryJitter | null, jitterRatio: number | null, eligibleCauses: Array<FailureCause> | null, emitRetryEvents: boolean | null, maxElapsed: number | null, countPreStartFailures: boolean | null, maxUncountedRetries: number | null, trustVerdicts: boolean | null, rules: Array<RuleFragment> | null };

export type RuleFragment = { action: RetryRuleAction, avoid: RetryAvoidance | null, exclude: RetryExclusion | null, delay: number | null, match: { causes: Array<FailureCause> | null, exitCodes: Array<number | string> | null, exitCodesNotIn: Array<number | string> | null, reason: string | null }, scaleResources: Array<{ slot: string, factor: number, max: string | null }> | null, scaleTimeout: { factor: number, max: number | null } | null };

export type SessionDetailFragment = (
  { image: string | null, command: Array<string>, secretEnviron: Array<string>, clusterMode: ClusterMode, clusterSize: number, batchTimeout: number | null, startsAt: string | null, environ: Array<{ name: string, value: string }>, resourceSlots: Array<{ slot: string, amount: string }>, childSession: { sessionId: string } | null, retryPolicy: PolicyFragment, retryChain: Array<AttemptFragment> }
  & AttemptFragment
);

export type QuotaDetailFragment = { scope: QuotaScope, name: string, maxPending: number | null, maxRunning: number | null, slots: Array<{ slot: string, amount: string }>, usage: { pending: number, running: number, slots: Array<{ slot: string, amount: string }> } };

export type QuotasQueryVariables = Exact<{ [key: string]: never; }>;


export type QuotasQuery = { quotas: Array<QuotaDetailFragment> };

export type SetQuotaMutationVariables = Exact<{
  input: SetQuotaInput;
}>;


export type SetQuotaMutation = { setQuota:
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'SetQuotaPayload', quota: QuotaDetailFragment }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type ResubmissionSummaryFragment = { resubmissionId: string, clientKey: string, action: SessionAction, actor: string, state: ResubmissionState, total: number, done: number, pending: number, refusedCount: number, createdAt: string, finishedAt: string | null, abortedBy: string | null };

export type ResubmitSessionsMutationVariables = Exact<{
  input: ResubmitSessionsInput;
}>;


export type ResubmitSessionsMutation = { resubmitSessions:
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | { __typename: 'DryRun', total: number, count: number, sessions: Array<SessionSummaryFragment> }
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | { __typename: 'ResubmitSessionsPayload', resubmission: ResubmissionSummaryFragment, sessions: Array<SessionSummaryFragment>, refused: Array<{ sessionId: string, code: string, message: string }> }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type AbortResubmissionMutationVariables = Exact<{
  input: AbortResubmissionInput;
}>;


export type AbortResubmissionMutation = { abortResubmission:
    | { __typename: 'AbortResubmissionPayload', resubmission: ResubmissionSummaryFragment }
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'InvalidStateError' }
      & Failure_InvalidStateError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
   };

export type ResubmissionQueryVariables = Exact<{
  id: string;
}>;


export type ResubmissionQuery = { resubmission: ResubmissionSummaryFragment | null };

export type ResubmissionsQueryVariables = Exact<{
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type ResubmissionsQuery = { resubmissions: { pageInfo: { hasNextPage: boolean, endCursor: string | null }, edges: Array<{ cursor: string, node: ResubmissionSummaryFragment }> } };

export type ResubmissionItemsQueryVariables = Exact<{
  id: string;
  status?: ResubmissionItemStatus | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type ResubmissionItemsQuery = { resubmission: { items: { pageInfo: { hasNextPage: boolean, endCursor: string | null }, edges: Array<{ cursor: string, node: { position: number, sessionId: string, status: ResubmissionItemStatus, childSessionId: string | null, code: string | null, message: string | null } }> } } | null };

export type TerminateSessionsMutationVariables = Exact<{
  input: TerminateSessionsInput;
}>;


export type TerminateSessionsMutation = { terminateSessions:
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | { __typename: 'DryRun', total: number, count: number, sessions: Array<SessionSummaryFragment> }
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | { __typename: 'TerminateSessionsPayload', resubmission: ResubmissionSummaryFragment, sessions: Array<SessionSummaryFragment>, refused: Array<{ sessionId: string, code: string, message: string }> }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type CancelRetriesMutationVariables = Exact<{
  input: CancelRetriesInput;
}>;


export type CancelRetriesMutation = { cancelRetries:
    | { __typename: 'CancelRetriesPayload', resubmission: ResubmissionSummaryFragment, sessions: Array<SessionSummaryFragment>, refused: Array<{ sessionId: string, code: string, message: string }> }
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | { __typename: 'DryRun', total: number, count: number, sessions: Array<SessionSummaryFragment> }
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type RetryNowManyMutationVariables = Exact<{
  input: RetryNowManyInput;
}>;


export type RetryNowManyMutation = { retryNowMany:
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | { __typename: 'DryRun', total: number, count: number, sessions: Array<SessionSummaryFragment> }
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | { __typename: 'RetryNowManyPayload', resubmission: ResubmissionSummaryFragment, sessions: Array<SessionSummaryFragment>, refused: Array<{ sessionId: string, code: string, message: string }> }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type PlannedFragment = { retry: number, delaySeconds: number, earliestSeconds: number, latestSeconds: number, elapsedSeconds: number, batchTimeout: number | null, resourceSlots: Array<{ slot: string, amount: string }> };

export type RetryPolicyPreviewQueryVariables = Exact<{
  policy: RetryPolicyInput;
  cause?: FailureCause | null | undefined;
  exitCode?: number | null | undefined;
  sessionId?: string | null | undefined;
}>;


export type RetryPolicyPreviewQuery = { retryPolicyPreview: { eligible: boolean, explanation: string, schedule: Array<PlannedFragment> } };

export type AirflowPolicyPreviewQueryVariables = Exact<{
  settings: AirflowSettingsInput;
}>;


export type AirflowPolicyPreviewQuery = { airflowPolicyPreview: { policy: PolicyFragment, schedule: Array<PlannedFragment>, airflowDelays: Array<{ retry: number, delaySeconds: number, earliestSeconds: number, latestSeconds: number, elapsedSeconds: number }>, explanation: { alike: Array<string>, differs: Array<string> } } };

export type RetryDecisionsQueryVariables = Exact<{
  filter?: RetryDecisionFilter | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type RetryDecisionsQuery = { retryDecisions: { pageInfo: { hasNextPage: boolean, endCursor: string | null }, edges: Array<{ cursor: string, node: DecisionFragment }> } };

export type DefaultsFragment = { scope: RetryScope, name: string | null, policy: PartialPolicyFragment | null };

export type RetryDefaultsQueryVariables = Exact<{ [key: string]: never; }>;


export type RetryDefaultsQuery = { retryDefaults: Array<DefaultsFragment> };

export type SetRetryDefaultsMutationVariables = Exact<{
  input: SetRetryDefaultsInput;
}>;


export type SetRetryDefaultsMutation = { setRetryDefaults:
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'SetRetryDefaultsPayload', retryDefaults: DefaultsFragment }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type SwitchFragment = { scope: RetryScope, name: string | null, disabled: boolean, disabledUntil: string | null, rateLimitUntil: string | null, rateLimit: { perSecond: number, burst: number } | null };

export type RetrySwitchesQueryVariables = Exact<{ [key: string]: never; }>;


export type RetrySwitchesQuery = { retrySwitches: Array<SwitchFragment> };

export type SetRetrySwitchMutationVariables = Exact<{
  input: SetRetrySwitchInput;
}>;


export type SetRetrySwitchMutation = { setRetrySwitch:
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'SetRetrySwitchPayload', retrySwitch: SwitchFragment }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type SessionQueryVariables = Exact<{
  id: string;
}>;


export type SessionQuery = { session: SessionDetailFragment | null };

export type ChainQueryVariables = Exact<{
  id: string;
}>;


export type ChainQuery = { session: { retryChain: Array<AttemptFragment> } | null };

export type SessionsQueryVariables = Exact<{
  filter?: SessionFilter | null | undefined;
  orderBy?: Array<SessionOrder> | SessionOrder | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
  withTotal?: boolean | null | undefined;
}>;


export type SessionsQuery = { sessions: { totalCount?: number, totalCountIsExact?: boolean, pageInfo: { hasNextPage: boolean, endCursor: string | null }, edges: Array<{ cursor: string, node: SessionSummaryFragment }> } };

export type SessionHistoryQueryVariables = Exact<{
  id: string;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type SessionHistoryQuery = { session: { schedulingHistory: { pageInfo: { hasNextPage: boolean, endCursor: string | null }, edges: Array<{ cursor: string, node: { phase: string, fromStatus: string | null, toStatus: string | null, result: SchedulingResult, errorCode: string | null, message: string | null, attempts: number, firstAt: string, lastAt: string } }> } } | null };

export type CreateSessionMutationVariables = Exact<{
  input: CreateSessionInput;
}>;


export type CreateSessionMutation = { createSession:
    | (
      { __typename: 'ConflictError' }
      & Failure_ConflictError_Fragment
    )
    | { __typename: 'CreateSessionPayload', created: boolean, session: SessionSummaryFragment }
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | (
      { __typename: 'QuotaExceededError' }
      & Failure_QuotaExceededError_Fragment
    )
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type CreateSessionsMutationVariables = Exact<{
  input: CreateSessionsInput;
}>;


export type CreateSessionsMutation = { createSessions:
    | { __typename: 'CreateSessionsPayload', results: Array<
        | (
          { __typename: 'ConflictError' }
          & Failure_ConflictError_Fragment
        )
        | { __typename: 'CreateSessionPayload', created: boolean, session: SessionSummaryFragment }
        | (
          { __typename: 'ForbiddenError' }
          & Failure_ForbiddenError_Fragment
        )
        | (
          { __typename: 'NotFoundError' }
          & Failure_NotFoundError_Fragment
        )
        | (
          { __typename: 'QuotaExceededError' }
          & Failure_QuotaExceededError_Fragment
        )
        | (
          { __typename: 'ValidationError' }
          & Failure_ValidationError_Fragment
        )
      > }
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type TerminateSessionMutationVariables = Exact<{
  input: TerminateSessionInput;
}>;


export type TerminateSessionMutation = { terminateSession:
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'InvalidStateError' }
      & Failure_InvalidStateError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'TerminateSessionPayload', session: SessionSummaryFragment }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type CancelRetryMutationVariables = Exact<{
  input: CancelRetryInput;
}>;


export type CancelRetryMutation = { cancelRetry:
    | { __typename: 'CancelRetryPayload', session: SessionSummaryFragment }
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'InvalidStateError' }
      & Failure_InvalidStateError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
   };

export type RetryNowMutationVariables = Exact<{
  input: RetryNowInput;
}>;


export type RetryNowMutation = { retryNow:
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'InvalidStateError' }
      & Failure_InvalidStateError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'RetryNowPayload', session: SessionSummaryFragment }
   };

export type UpdateRetryMutationVariables = Exact<{
  input: UpdateRetryInput;
}>;


export type UpdateRetryMutation = { updateRetry:
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'InvalidStateError' }
      & Failure_InvalidStateError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'UpdateRetryPayload', session: SessionSummaryFragment }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type KernelLogTailQueryVariables = Exact<{
  id: string | number;
  last?: number | null | undefined;
  before?: string | null | undefined;
}>;


export type KernelLogTailQuery = { node:
    | { __typename: 'Agent' }
    | { __typename: 'Chain' }
    | { __typename: 'Deployment' }
    | { __typename: 'Domain' }
    | { __typename: 'Kernel', logs: { pageInfo: { hasPreviousPage: boolean, startCursor: string | null }, edges: Array<{ cursor: string, node: { cursor: string, stream: LogStream, text: string, at: string } }> } }
    | { __typename: 'Project' }
    | { __typename: 'ResourceGroup' }
    | { __typename: 'Resubmission' }
    | { __typename: 'RetryDecision' }
    | { __typename: 'Route' }
    | { __typename: 'Session' }
    | { __typename: 'Token' }
    | { __typename: 'User' }
    | { __typename: 'Webhook' }
    | { __typename: 'WebhookDelivery' }
   | null };

export type KernelLogPageQueryVariables = Exact<{
  id: string | number;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type KernelLogPageQuery = { node:
    | { __typename: 'Agent' }
    | { __typename: 'Chain' }
    | { __typename: 'Deployment' }
    | { __typename: 'Domain' }
    | { __typename: 'Kernel', logs: { pageInfo: { hasNextPage: boolean, endCursor: string | null }, edges: Array<{ cursor: string, node: { cursor: string, stream: LogStream, text: string, at: string } }> } }
    | { __typename: 'Project' }
    | { __typename: 'ResourceGroup' }
    | { __typename: 'Resubmission' }
    | { __typename: 'RetryDecision' }
    | { __typename: 'Route' }
    | { __typename: 'Session' }
    | { __typename: 'Token' }
    | { __typename: 'User' }
    | { __typename: 'Webhook' }
    | { __typename: 'WebhookDelivery' }
   | null };

export type TokenSummaryFragment = { tokenId: string, name: string, prefix: string, role: TokenRole, resourceGroups: Array<string>, createdAt: string, expiresAt: string | null, revokedAt: string | null, lastUsedAt: string | null, project: { name: string } | null };

export type ViewerQueryVariables = Exact<{ [key: string]: never; }>;


export type ViewerQuery = { viewer: TokenSummaryFragment | null };

export type TokensQueryVariables = Exact<{
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type TokensQuery = { tokens: { pageInfo: { hasNextPage: boolean, endCursor: string | null }, edges: Array<{ cursor: string, node: TokenSummaryFragment }> } | null };

export type CreateTokenMutationVariables = Exact<{
  input: CreateTokenInput;
}>;


export type CreateTokenMutation = { createToken:
    | { __typename: 'CreateTokenPayload', secret: string, token: TokenSummaryFragment }
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'InvalidStateError' }
      & Failure_InvalidStateError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type RevokeTokenMutationVariables = Exact<{
  input: RevokeTokenInput;
}>;


export type RevokeTokenMutation = { revokeToken:
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'RevokeTokenPayload', token: TokenSummaryFragment }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type WebhookSummaryFragment = { webhookId: string, url: string, description: string, eventTypes: Array<string>, chainId: string | null, enabled: boolean, disabledAt: string | null, disabledReason: string | null, failingSince: string | null, restingUntil: string | null, lastDeliveredAt: string | null, previousSecretExpiresAt: string | null, createdAt: string, project: { name: string } | null, labels: Array<{ key: string, value: string }> };

export type DeliveryFragment = { deliveryId: string, messageId: string, eventType: string, status: WebhookDeliveryStatus, sessionId: string | null, chainId: string | null, occurredAt: string, createdAt: string, nextAttemptAt: string | null, finishedAt: string | null, attempts: Array<{ number: number, startedAt: string, durationSeconds: number, statusCode: number | null, error: string | null, response: string | null }> };

export type WebhooksQueryVariables = Exact<{
  project?: string | null | undefined;
  enabled?: boolean | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type WebhooksQuery = { webhooks: { pageInfo: { hasNextPage: boolean, endCursor: string | null }, edges: Array<{ cursor: string, node: WebhookSummaryFragment }> } };

export type WebhookDeliveriesQueryVariables = Exact<{
  webhookId: string;
  status?: Array<WebhookDeliveryStatus> | WebhookDeliveryStatus | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type WebhookDeliveriesQuery = { webhookDeliveries: { pageInfo: { hasNextPage: boolean, endCursor: string | null }, edges: Array<{ cursor: string, node: DeliveryFragment }> } };

export type CreateWebhookMutationVariables = Exact<{
  input: CreateWebhookInput;
}>;


export type CreateWebhookMutation = { createWebhook:
    | { __typename: 'CreateWebhookPayload', secret: string, webhook: WebhookSummaryFragment }
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | (
      { __typename: 'QuotaExceededError' }
      & Failure_QuotaExceededError_Fragment
    )
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type UpdateWebhookMutationVariables = Exact<{
  input: UpdateWebhookInput;
}>;


export type UpdateWebhookMutation = { updateWebhook:
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'UpdateWebhookPayload', webhook: WebhookSummaryFragment }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type DeleteWebhookMutationVariables = Exact<{
  input: DeleteWebhookInput;
}>;


export type DeleteWebhookMutation = { deleteWebhook:
    | { __typename: 'DeleteWebhookPayload', webhookId: string }
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
   };

export type RotateWebhookSecretMutationVariables = Exact<{
  input: RotateWebhookSecretInput;
}>;


export type RotateWebhookSecretMutation = { rotateWebhookSecret:
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'RotateWebhookSecretPayload', secret: string, webhook: WebhookSummaryFragment }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export type SendTestEventMutationVariables = Exact<{
  input: SendTestEventInput;
}>;


export type SendTestEventMutation = { sendTestEvent:
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'InvalidStateError' }
      & Failure_InvalidStateError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'SendTestEventPayload', delivery: DeliveryFragment }
   };

export type ReplayDeliveryMutationVariables = Exact<{
  input: ReplayDeliveryInput;
}>;


export type ReplayDeliveryMutation = { replayDelivery:
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'InvalidStateError' }
      & Failure_InvalidStateError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'ReplayDeliveryPayload', delivery: DeliveryFragment }
   };

export type ReplayWebhookMutationVariables = Exact<{
  input: ReplayWebhookInput;
}>;


export type ReplayWebhookMutation = { replayWebhook:
    | (
      { __typename: 'ForbiddenError' }
      & Failure_ForbiddenError_Fragment
    )
    | (
      { __typename: 'InvalidStateError' }
      & Failure_InvalidStateError_Fragment
    )
    | (
      { __typename: 'NotFoundError' }
      & Failure_NotFoundError_Fragment
    )
    | { __typename: 'ReplayWebhookPayload', replayed: number, more: boolean }
    | (
      { __typename: 'ValidationError' }
      & Failure_ValidationError_Fragment
    )
   };

export class TypedDocumentString<TResult, TVariables>
  extends String
  implements DocumentTypeDecoration<TResult, TVariables>
{
  __apiType?: NonNullable<DocumentTypeDecoration<TResult, TVariables>['__apiType']>;
  private value: string;
  public __meta__?: Record<string, any> | undefined;

  constructor(value: string, __meta__?: Record<string, any> | undefined) {
    super(value);
    this.value = value;
    this.__meta__ = __meta__;
  }

  override toString(): string & DocumentTypeDecoration<TResult, TVariables> {
    return this.value;
  }
}
export const DeploymentSummaryFragmentDoc = new TypedDocumentString(`
    fragment DeploymentSummary on Deployment {
  deploymentId
  creationId
  name
  project {
    name
  }
  status
  statusReason
  settled
  replicas
  minHealthy
  maxSurge
  healthyReplicas
  revision {
    number
    image
    command
    resourceGroup
    labels {
      key
      value
    }
  }
  endpoints {
    host
    port
    url
  }
  createdAt
  destroyedAt
}
    `, {"fragmentName":"DeploymentSummary"}) as unknown as TypedDocumentString<DeploymentSummaryFragment, unknown>;
export const DeploymentDetailFragmentDoc = new TypedDocumentString(`
    fragment DeploymentDetail on Deployment {
  ...DeploymentSummary
  statusChangedAt
  createdBy
  failures
  nextRouteAt
  routeCounts {
    status
    count
  }
  revision {
    environ {
      name
      value
    }
    secretEnviron
    resourceSlots {
      slot
      amount
    }
    priority
    agentLabels {
      key
      value
    }
    portVariable
    healthCheck {
      path
      interval
      timeout
      healthyThreshold
      unhealthyThreshold
      initialDelay
      staleAfter
    }
    startTimeout
    evictAfter
    drain
    createdAt
  }
  routes(
    first: 100
    status: [PROVISIONING, DEGRADED, HEALTHY, UNHEALTHY, FAILED_TO_START, TERMINATING]
  ) {
    edges {
      node {
        routeId
        status
        statusReason
        statusChangedAt
        host
        port
        lastCheckFault
        revision {
          number
        }
        session {
          sessionId
          pendingReason
        }
        createdAt
      }
    }
  }
}
    fragment DeploymentSummary on Deployment {
  deploymentId
  creationId
  name
  project {
    name
  }
  status
  statusReason
  settled
  replicas
  minHealthy
  maxSurge
  healthyReplicas
  revision {
    number
    image
    command
    resourceGroup
    labels {
      key
      value
    }
  }
  endpoints {
    host
    port
    url
  }
  createdAt
  destroyedAt
}`, {"fragmentName":"DeploymentDetail"}) as unknown as TypedDocumentString<DeploymentDetailFragment, unknown>;
export const EventFieldsFragmentDoc = new TypedDocumentString(`
    fragment EventFields on SessionEvent {
  cursor
  type
  occurredAt
  sessionId
  chainId
  fromStatus
  toStatus
  reason
  chainEnd {
    epoch
    attempts
    cause
    runningSeconds
    waitingSeconds
  }
}
    `, {"fragmentName":"EventFields"}) as unknown as TypedDocumentString<EventFieldsFragment, unknown>;
export const FailureFragmentDoc = new TypedDocumentString(`
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
}
    `, {"fragmentName":"Failure"}) as unknown as TypedDocumentString<FailureFragment, unknown>;
export const SessionSummaryFragmentDoc = new TypedDocumentString(`
    fragment SessionSummary on Session {
  sessionId
  creationId
  name
  sessionType
  status
  result
  statusReason
  pendingReason
  exitCode
  failureCause
  chainId
  attempt
  epoch
  origin
  retryCount
  maxRetries
  retryCause
  priority
  project {
    name
  }
  resourceGroup {
    name
  }
  labels {
    key
    value
  }
  createdAt
  startedAt
  terminatedAt
  statusChangedAt
  retryState {
    phase
    attempt
    maxAttempts
    label
    reason
    scheduledAt
    delaySeconds
  }
}
    `, {"fragmentName":"SessionSummary"}) as unknown as TypedDocumentString<SessionSummaryFragment, unknown>;
export const KernelSummaryFragmentDoc = new TypedDocumentString(`
    fragment KernelSummary on Kernel {
  id
  kernelId
  role
  index
  status
  exitCode
  oomKilled
  reason
  agent {
    agentId
    name
  }
  startedAt
  terminatedAt
}
    `, {"fragmentName":"KernelSummary"}) as unknown as TypedDocumentString<KernelSummaryFragment, unknown>;
export const DecisionFragmentDoc = new TypedDocumentString(`
    fragment Decision on RetryDecision {
  sessionId
  chainId
  phase
  cause
  matchedRule
  counted
  explanation
  baseDelaySeconds
  jitterSeconds
  delaySeconds
  dueAt
  holdReason
  childSession {
    sessionId
  }
  decidedAt
  dispatchedAt
}
    `, {"fragmentName":"Decision"}) as unknown as TypedDocumentString<DecisionFragment, unknown>;
export const AttemptFragmentDoc = new TypedDocumentString(`
    fragment Attempt on Session {
  ...SessionSummary
  parentSession {
    sessionId
  }
  kernels {
    ...KernelSummary
  }
  retryDecision {
    ...Decision
  }
}
    fragment SessionSummary on Session {
  sessionId
  creationId
  name
  sessionType
  status
  result
  statusReason
  pendingReason
  exitCode
  failureCause
  chainId
  attempt
  epoch
  origin
  retryCount
  maxRetries
  retryCause
  priority
  project {
    name
  }
  resourceGroup {
    name
  }
  labels {
    key
    value
  }
  createdAt
  startedAt
  terminatedAt
  statusChangedAt
  retryState {
    phase
    attempt
    maxAttempts
    label
    reason
    scheduledAt
    delaySeconds
  }
}
fragment KernelSummary on Kernel {
  id
  kernelId
  role
  index
  status
  exitCode
  oomKilled
  reason
  agent {
    agentId
    name
  }
  startedAt
  terminatedAt
}
fragment Decision on RetryDecision {
  sessionId
  chainId
  phase
  cause
  matchedRule
  counted
  explanation
  baseDelaySeconds
  jitterSeconds
  delaySeconds
  dueAt
  holdReason
  childSession {
    sessionId
  }
  decidedAt
  dispatchedAt
}`, {"fragmentName":"Attempt"}) as unknown as TypedDocumentString<AttemptFragment, unknown>;
export const RuleFragmentDoc = new TypedDocumentString(`
    fragment Rule on RetryRule {
  action
  avoid
  exclude
  delay
  match {
    causes
    exitCodes
    exitCodesNotIn
    reason
  }
  scaleResources {
    slot
    factor
    max
  }
  scaleTimeout {
    factor
    max
  }
}
    `, {"fragmentName":"Rule"}) as unknown as TypedDocumentString<RuleFragment, unknown>;
export const PolicyFragmentDoc = new TypedDocumentString(`
    fragment Policy on RetryPolicy {
  maxRetries
  retryDelay
  backoff
  backoffMultiplier
  maxRetryDelay
  jitter
  jitterRatio
  eligibleCauses
  emitRetryEvents
  maxElapsed
  countPreStartFailures
  maxUncountedRetries
  trustVerdicts
  rules {
    ...Rule
  }
  sources {
    field
    source
  }
}
    fragment Rule on RetryRule {
  action
  avoid
  exclude
  delay
  match {
    causes
    exitCodes
    exitCodesNotIn
    reason
  }
  scaleResources {
    slot
    factor
    max
  }
  scaleTimeout {
    factor
    max
  }
}`, {"fragmentName":"Policy"}) as unknown as TypedDocumentString<PolicyFragment, unknown>;
export const SessionDetailFragmentDoc = new TypedDocumentString(`
    fragment SessionDetail on Session {
  ...Attempt
  image
  command
  environ {
    name
    value
  }
  secretEnviron
  resourceSlots {
    slot
    amount
  }
  clusterMode
  clusterSize
  batchTimeout
  startsAt
  childSession {
    sessionId
  }
  retryPolicy {
    ...Policy
  }
  retryChain {
    ...Attempt
  }
}
    fragment SessionSummary on Session {
  sessionId
  creationId
  name
  sessionType
  status
  result
  statusReason
  pendingReason
  exitCode
  failureCause
  chainId
  attempt
  epoch
  origin
  retryCount
  maxRetries
  retryCause
  priority
  project {
    name
  }
  resourceGroup {
    name
  }
  labels {
    key
    value
  }
  createdAt
  startedAt
  terminatedAt
  statusChangedAt
  retryState {
    phase
    attempt
    maxAttempts
    label
    reason
    scheduledAt
    delaySeconds
  }
}
fragment KernelSummary on Kernel {
  id
  kernelId
  role
  index
  status
  exitCode
  oomKilled
  reason
  agent {
    agentId
    name
  }
  startedAt
  terminatedAt
}
fragment Decision on RetryDecision {
  sessionId
  chainId
  phase
  cause
  matchedRule
  counted
  explanation
  baseDelaySeconds
  jitterSeconds
  delaySeconds
  dueAt
  holdReason
  childSession {
    sessionId
  }
  decidedAt
  dispatchedAt
}
fragment Attempt on Session {
  ...SessionSummary
  parentSession {
    sessionId
  }
  kernels {
    ...KernelSummary
  }
  retryDecision {
    ...Decision
  }
}
fragment Policy on RetryPolicy {
  maxRetries
  retryDelay
  backoff
  backoffMultiplier
  maxRetryDelay
  jitter
  jitterRatio
  eligibleCauses
  emitRetryEvents
  maxElapsed
  countPreStartFailures
  maxUncountedRetries
  trustVerdicts
  rules {
    ...Rule
  }
  sources {
    field
    source
  }
}
fragment Rule on RetryRule {
  action
  avoid
  exclude
  delay
  match {
    causes
    exitCodes
    exitCodesNotIn
    reason
  }
  scaleResources {
    slot
    factor
    max
  }
  scaleTimeout {
    factor
    max
  }
}`, {"fragmentName":"SessionDetail"}) as unknown as TypedDocumentString<SessionDetailFragment, unknown>;
export const QuotaDetailFragmentDoc = new TypedDocumentString(`
    fragment QuotaDetail on Quota {
  scope
  name
  maxPending
  maxRunning
  slots {
    slot
    amount
  }
  usage {
    pending
    running
    slots {
      slot
      amount
    }
  }
}
    `, {"fragmentName":"QuotaDetail"}) as unknown as TypedDocumentString<QuotaDetailFragment, unknown>;
export const ResubmissionSummaryFragmentDoc = new TypedDocumentString(`
    fragment ResubmissionSummary on Resubmission {
  resubmissionId
  clientKey
  action
  actor
  state
  total
  done
  pending
  refusedCount
  createdAt
  finishedAt
  abortedBy
}
    `, {"fragmentName":"ResubmissionSummary"}) as unknown as TypedDocumentString<ResubmissionSummaryFragment, unknown>;
export const PlannedFragmentDoc = new TypedDocumentString(`
    fragment Planned on PlannedRetry {
  retry
  delaySeconds
  earliestSeconds
  latestSeconds
  elapsedSeconds
  resourceSlots {
    slot
    amount
  }
  batchTimeout
}
    `, {"fragmentName":"Planned"}) as unknown as TypedDocumentString<PlannedFragment, unknown>;
export const PartialPolicyFragmentDoc = new TypedDocumentString(`
    fragment PartialPolicy on PartialRetryPolicy {
  given
  maxRetries
  retryDelay
  backoff
  backoffMultiplier
  maxRetryDelay
  jitter
  jitterRatio
  eligibleCauses
  emitRetryEvents
  maxElapsed
  countPreStartFailures
  maxUncountedRetries
  trustVerdicts
  rules {
    ...Rule
  }
}
    fragment Rule on RetryRule {
  action
  avoid
  exclude
  delay
  match {
    causes
    exitCodes
    exitCodesNotIn
    reason
  }
  scaleResources {
    slot
    factor
    max
  }
  scaleTimeout {
    factor
    max
  }
}`, {"fragmentName":"PartialPolicy"}) as unknown as TypedDocumentString<PartialPolicyFragment, unknown>;
export const DefaultsFragmentDoc = new TypedDocumentString(`
    fragment Defaults on RetryDefaults {
  scope
  name
  policy {
    ...PartialPolicy
  }
}
    fragment PartialPolicy on PartialRetryPolicy {
  given
  maxRetries
  retryDelay
  backoff
  backoffMultiplier
  maxRetryDelay
  jitter
  jitterRatio
  eligibleCauses
  emitRetryEvents
  maxElapsed
  countPreStartFailures
  maxUncountedRetries
  trustVerdicts
  rules {
    ...Rule
  }
}
fragment Rule on RetryRule {
  action
  avoid
  exclude
  delay
  match {
    causes
    exitCodes
    exitCodesNotIn
    reason
  }
  scaleResources {
    slot
    factor
    max
  }
  scaleTimeout {
    factor
    max
  }
}`, {"fragmentName":"Defaults"}) as unknown as TypedDocumentString<DefaultsFragment, unknown>;
export const SwitchFragmentDoc = new TypedDocumentString(`
    fragment Switch on RetrySwitch {
  scope
  name
  disabled
  disabledUntil
  rateLimit {
    perSecond
    burst
  }
  rateLimitUntil
}
    `, {"fragmentName":"Switch"}) as unknown as TypedDocumentString<SwitchFragment, unknown>;
export const TokenSummaryFragmentDoc = new TypedDocumentString(`
    fragment TokenSummary on Token {
  tokenId
  name
  prefix
  role
  resourceGroups
  project {
    name
  }
  createdAt
  expiresAt
  revokedAt
  lastUsedAt
}
    `, {"fragmentName":"TokenSummary"}) as unknown as TypedDocumentString<TokenSummaryFragment, unknown>;
export const WebhookSummaryFragmentDoc = new TypedDocumentString(`
    fragment WebhookSummary on Webhook {
  webhookId
  url
  description
  eventTypes
  project {
    name
  }
  chainId
  labels {
    key
    value
  }
  enabled
  disabledAt
  disabledReason
  failingSince
  restingUntil
  lastDeliveredAt
  previousSecretExpiresAt
  createdAt
}
    `, {"fragmentName":"WebhookSummary"}) as unknown as TypedDocumentString<WebhookSummaryFragment, unknown>;
export const DeliveryFragmentDoc = new TypedDocumentString(`
    fragment Delivery on WebhookDelivery {
  deliveryId
  messageId
  eventType
  status
  sessionId
  chainId
  occurredAt
  createdAt
  nextAttemptAt
  finishedAt
  attempts {
    number
    startedAt
    durationSeconds
    statusCode
    error
    response
  }
}
    `, {"fragmentName":"Delivery"}) as unknown as TypedDocumentString<DeliveryFragment, unknown>;
export const AgentsDocument = new TypedDocumentString(`
    query Agents($filter: AgentFilter, $first: Int, $after: String) {
  agents(filter: $filter, first: $first, after: $after) {
    pageInfo {
      hasNextPage
      endCursor
    }
    edges {
      cursor
      node {
        agentId
        name
        status
        resourceGroup {
          name
        }
        slots {
          slot
          capacity
          used
        }
        labels {
          key
          value
        }
        isolation
        version
        registeredAt
        lastHeardAt
      }
    }
  }
}
    `) as unknown as TypedDocumentString<AgentsQuery, AgentsQueryVariables>;
export const ResourceGroupsDocument = new TypedDocumentString(`
    query ResourceGroups {
  resourceGroups {
    name
    selector
    sequencer
    maxTries
    maxReschedules
    pendingTimeout
    prepareTimeout
    createTimeout
    terminateTimeout
    fenceAfter
  }
}
    `) as unknown as TypedDocumentString<ResourceGroupsQuery, ResourceGroupsQueryVariables>;
export const ProjectsDocument = new TypedDocumentString(`
    query Projects($first: Int, $after: String) {
  projects(first: $first, after: $after) {
    pageInfo {
      hasNextPage
      endCursor
    }
    edges {
      cursor
      node {
        projectId
        name
        domain
        createdAt
      }
    }
  }
}
    `) as unknown as TypedDocumentString<ProjectsQuery, ProjectsQueryVariables>;
export const DrainAgentDocument = new TypedDocumentString(`
    mutation DrainAgent($input: DrainAgentInput!) {
  drainAgent(input: $input) {
    __typename
    ... on DrainAgentPayload {
      agent {
        agentId
        name
        status
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
}`) as unknown as TypedDocumentString<DrainAgentMutation, DrainAgentMutationVariables>;
export const ResumeAgentDocument = new TypedDocumentString(`
    mutation ResumeAgent($input: ResumeAgentInput!) {
  resumeAgent(input: $input) {
    __typename
    ... on ResumeAgentPayload {
      agent {
        agentId
        name
        status
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
}`) as unknown as TypedDocumentString<ResumeAgentMutation, ResumeAgentMutationVariables>;
export const AuditLogDocument = new TypedDocumentString(`
    query AuditLog($filter: AuditFilter, $first: Int, $after: String) {
  auditLog(filter: $filter, first: $first, after: $after) {
    pageInfo {
      hasNextPage
      endCursor
    }
    edges {
      cursor
      node {
        entryId
        at
        actor
        tokenId
        userId
        requestId
        address
        action
        projectId
        sessionId
        details
      }
    }
  }
}
    `) as unknown as TypedDocumentString<AuditLogQuery, AuditLogQueryVariables>;
export const ChainsDocument = new TypedDocumentString(`
    query Chains($filter: ChainFilter, $orderBy: ChainOrder, $first: Int, $after: String) {
  chains(filter: $filter, orderBy: $orderBy, first: $first, after: $after) {
    pageInfo {
      hasNextPage
      endCursor
    }
    edges {
      cursor
      node {
        chainId
        name
        state
        cause
        attempts
        failureCount
        project {
          name
        }
        outlook {
          willRetry
          at
          reason
        }
        newestAttempt {
          sessionId
        }
        runningSeconds
        waitingSeconds
        totalSeconds
        createdAt
        newestActivityAt
        endedAt
      }
    }
  }
}
    `) as unknown as TypedDocumentString<ChainsQuery, ChainsQueryVariables>;
export const ChainCountsDocument = new TypedDocumentString(`
    query ChainCounts($filter: ChainFilter) {
  chains(filter: $filter, first: 0) {
    counts {
      state
      count
      isExact
    }
  }
}
    `) as unknown as TypedDocumentString<ChainCountsQuery, ChainCountsQueryVariables>;
export const ChainTimelineDocument = new TypedDocumentString(`
    query ChainTimeline($sessionId: UUID!, $first: Int, $after: String) {
  chain(sessionId: $sessionId) {
    timeline(first: $first, after: $after) {
      pageInfo {
        hasNextPage
        endCursor
      }
      edges {
        node {
          kind
          from
          to
          attempt
          epoch
          session {
            sessionId
          }
          cause
          holdReason
          reason
        }
      }
    }
  }
}
    `) as unknown as TypedDocumentString<ChainTimelineQuery, ChainTimelineQueryVariables>;
export const DeploymentDocument = new TypedDocumentString(`
    query Deployment($id: UUID!) {
  deployment(id: $id) {
    ...DeploymentDetail
  }
}
    fragment DeploymentSummary on Deployment {
  deploymentId
  creationId
  name
  project {
    name
  }
  status
  statusReason
  settled
  replicas
  minHealthy
  maxSurge
  healthyReplicas
  revision {
    number
    image
    command
    resourceGroup
    labels {
      key
      value
    }
  }
  endpoints {
    host
    port
    url
  }
  createdAt
  destroyedAt
}
fragment DeploymentDetail on Deployment {
  ...DeploymentSummary
  statusChangedAt
  createdBy
  failures
  nextRouteAt
  routeCounts {
    status
    count
  }
  revision {
    environ {
      name
      value
    }
    secretEnviron
    resourceSlots {
      slot
      amount
    }
    priority
    agentLabels {
      key
      value
    }
    portVariable
    healthCheck {
      path
      interval
      timeout
      healthyThreshold
      unhealthyThreshold
      initialDelay
      staleAfter
    }
    startTimeout
    evictAfter
    drain
    createdAt
  }
  routes(
    first: 100
    status: [PROVISIONING, DEGRADED, HEALTHY, UNHEALTHY, FAILED_TO_START, TERMINATING]
  ) {
    edges {
      node {
        routeId
        status
        statusReason
        statusChangedAt
        host
        port
        lastCheckFault
        revision {
          number
        }
        session {
          sessionId
          pendingReason
        }
        createdAt
      }
    }
  }
}`) as unknown as TypedDocumentString<DeploymentQuery, DeploymentQueryVariables>;
export const DeploymentsDocument = new TypedDocumentString(`
    query Deployments($filter: DeploymentFilter, $orderBy: DeploymentOrder, $first: Int, $after: String) {
  deployments(filter: $filter, orderBy: $orderBy, first: $first, after: $after) {
    pageInfo {
      hasNextPage
      endCursor
    }
    edges {
      cursor
      node {
        ...DeploymentSummary
      }
    }
  }
}
    fragment DeploymentSummary on Deployment {
  deploymentId
  creationId
  name
  project {
    name
  }
  status
  statusReason
  settled
  replicas
  minHealthy
  maxSurge
  healthyReplicas
  revision {
    number
    image
    command
    resourceGroup
    labels {
      key
      value
    }
  }
  endpoints {
    host
    port
    url
  }
  createdAt
  destroyedAt
}`) as unknown as TypedDocumentString<DeploymentsQuery, DeploymentsQueryVariables>;
export const CreateDeploymentDocument = new TypedDocumentString(`
    mutation CreateDeployment($input: CreateDeploymentInput!) {
  createDeployment(input: $input) {
    __typename
    ... on CreateDeploymentPayload {
      created
      deployment {
        ...DeploymentSummary
      }
    }
    ...Failure
  }
}
    fragment DeploymentSummary on Deployment {
  deploymentId
  creationId
  name
  project {
    name
  }
  status
  statusReason
  settled
  replicas
  minHealthy
  maxSurge
  healthyReplicas
  revision {
    number
    image
    command
    resourceGroup
    labels {
      key
      value
    }
  }
  endpoints {
    host
    port
    url
  }
  createdAt
  destroyedAt
}
fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
}`) as unknown as TypedDocumentString<CreateDeploymentMutation, CreateDeploymentMutationVariables>;
export const ScaleDeploymentDocument = new TypedDocumentString(`
    mutation ScaleDeployment($input: ScaleDeploymentInput!) {
  scaleDeployment(input: $input) {
    __typename
    ... on ScaleDeploymentPayload {
      deployment {
        ...DeploymentSummary
      }
    }
    ...Failure
  }
}
    fragment DeploymentSummary on Deployment {
  deploymentId
  creationId
  name
  project {
    name
  }
  status
  statusReason
  settled
  replicas
  minHealthy
  maxSurge
  healthyReplicas
  revision {
    number
    image
    command
    resourceGroup
    labels {
      key
      value
    }
  }
  endpoints {
    host
    port
    url
  }
  createdAt
  destroyedAt
}
fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
}`) as unknown as TypedDocumentString<ScaleDeploymentMutation, ScaleDeploymentMutationVariables>;
export const UpdateDeploymentDocument = new TypedDocumentString(`
    mutation UpdateDeployment($input: UpdateDeploymentInput!) {
  updateDeployment(input: $input) {
    __typename
    ... on UpdateDeploymentPayload {
      deployment {
        ...DeploymentSummary
      }
    }
    ...Failure
  }
}
    fragment DeploymentSummary on Deployment {
  deploymentId
  creationId
  name
  project {
    name
  }
  status
  statusReason
  settled
  replicas
  minHealthy
  maxSurge
  healthyReplicas
  revision {
    number
    image
    command
    resourceGroup
    labels {
      key
      value
    }
  }
  endpoints {
    host
    port
    url
  }
  createdAt
  destroyedAt
}
fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
}`) as unknown as TypedDocumentString<UpdateDeploymentMutation, UpdateDeploymentMutationVariables>;
export const DestroyDeploymentDocument = new TypedDocumentString(`
    mutation DestroyDeployment($input: DestroyDeploymentInput!) {
  destroyDeployment(input: $input) {
    __typename
    ... on DestroyDeploymentPayload {
      deployment {
        ...DeploymentSummary
      }
    }
    ...Failure
  }
}
    fragment DeploymentSummary on Deployment {
  deploymentId
  creationId
  name
  project {
    name
  }
  status
  statusReason
  settled
  replicas
  minHealthy
  maxSurge
  healthyReplicas
  revision {
    number
    image
    command
    resourceGroup
    labels {
      key
      value
    }
  }
  endpoints {
    host
    port
    url
  }
  createdAt
  destroyedAt
}
fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
}`) as unknown as TypedDocumentString<DestroyDeploymentMutation, DestroyDeploymentMutationVariables>;
export const DeploymentEventsDocument = new TypedDocumentString(`
    subscription DeploymentEvents($filter: DeploymentEventFilter, $after: String) {
  deploymentEvents(filter: $filter, after: $after) {
    cursor
    type
    occurredAt
    deploymentId
    deployment {
      name
    }
    routeId
    sessionId
    fromStatus
    toStatus
    fromReplicas
    toReplicas
    fromRevision
    revision
    host
    port
    reason
  }
}
    `) as unknown as TypedDocumentString<DeploymentEventsSubscription, DeploymentEventsSubscriptionVariables>;
export const EventCursorDocument = new TypedDocumentString(`
    query EventCursor {
  eventCursor
}
    `) as unknown as TypedDocumentString<EventCursorQuery, EventCursorQueryVariables>;
export const RetryEventsDocument = new TypedDocumentString(`
    subscription RetryEvents($filter: RetryEventFilter, $after: String) {
  retryEvents(filter: $filter, after: $after) {
    cursor
    type
    occurredAt
    sessionId
    chainId
    attempt
    maxAttempts
    cause
    delaySeconds
    scheduledAt
    childSessionId
    reason
  }
}
    `) as unknown as TypedDocumentString<RetryEventsSubscription, RetryEventsSubscriptionVariables>;
export const SessionEventsDocument = new TypedDocumentString(`
    subscription SessionEvents($filter: SessionEventFilter, $after: String) {
  sessionEvents(filter: $filter, after: $after) {
    ...EventFields
  }
}
    fragment EventFields on SessionEvent {
  cursor
  type
  occurredAt
  sessionId
  chainId
  fromStatus
  toStatus
  reason
  chainEnd {
    epoch
    attempts
    cause
    runningSeconds
    waitingSeconds
  }
}`) as unknown as TypedDocumentString<SessionEventsSubscription, SessionEventsSubscriptionVariables>;
export const EventsDocument = new TypedDocumentString(`
    query Events($filter: SessionEventFilter, $last: Int, $before: String) {
  events(filter: $filter, last: $last, before: $before) {
    pageInfo {
      hasPreviousPage
      startCursor
      endCursor
    }
    edges {
      node {
        ...EventFields
      }
    }
  }
}
    fragment EventFields on SessionEvent {
  cursor
  type
  occurredAt
  sessionId
  chainId
  fromStatus
  toStatus
  reason
  chainEnd {
    epoch
    attempts
    cause
    runningSeconds
    waitingSeconds
  }
}`) as unknown as TypedDocumentString<EventsQuery, EventsQueryVariables>;
export const KernelLogsDocument = new TypedDocumentString(`
    subscription KernelLogs($kernelId: UUID!, $after: String) {
  kernelLogs(kernelId: $kernelId, after: $after) {
    cursor
    stream
    text
    at
  }
}
    `) as unknown as TypedDocumentString<KernelLogsSubscription, KernelLogsSubscriptionVariables>;
export const QuotasDocument = new TypedDocumentString(`
    query Quotas {
  quotas {
    ...QuotaDetail
  }
}
    fragment QuotaDetail on Quota {
  scope
  name
  maxPending
  maxRunning
  slots {
    slot
    amount
  }
  usage {
    pending
    running
    slots {
      slot
      amount
    }
  }
}`) as unknown as TypedDocumentString<QuotasQuery, QuotasQueryVariables>;
export const SetQuotaDocument = new TypedDocumentString(`
    mutation SetQuota($input: SetQuotaInput!) {
  setQuota(input: $input) {
    __typename
    ... on SetQuotaPayload {
      quota {
        ...QuotaDetail
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
}
fragment QuotaDetail on Quota {
  scope
  name
  maxPending
  maxRunning
  slots {
    slot
    amount
  }
  usage {
    pending
    running
    slots {
      slot
      amount
    }
  }
}`) as unknown as TypedDocumentString<SetQuotaMutation, SetQuotaMutationVariables>;
export const ResubmitSessionsDocument = new TypedDocumentString(`
    mutation ResubmitSessions($input: ResubmitSessionsInput!) {
  resubmitSessions(input: $input) {
    __typename
    ... on ResubmitSessionsPayload {
      resubmission {
        ...ResubmissionSummary
      }
      sessions {
        ...SessionSummary
      }
      refused {
        sessionId
        code
        message
      }
    }
    ... on DryRun {
      total
      count
      sessions {
        ...SessionSummary
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
}
fragment SessionSummary on Session {
  sessionId
  creationId
  name
  sessionType
  status
  result
  statusReason
  pendingReason
  exitCode
  failureCause
  chainId
  attempt
  epoch
  origin
  retryCount
  maxRetries
  retryCause
  priority
  project {
    name
  }
  resourceGroup {
    name
  }
  labels {
    key
    value
  }
  createdAt
  startedAt
  terminatedAt
  statusChangedAt
  retryState {
    phase
    attempt
    maxAttempts
    label
    reason
    scheduledAt
    delaySeconds
  }
}
fragment ResubmissionSummary on Resubmission {
  resubmissionId
  clientKey
  action
  actor
  state
  total
  done
  pending
  refusedCount
  createdAt
  finishedAt
  abortedBy
}`) as unknown as TypedDocumentString<ResubmitSessionsMutation, ResubmitSessionsMutationVariables>;
export const AbortResubmissionDocument = new TypedDocumentString(`
    mutation AbortResubmission($input: AbortResubmissionInput!) {
  abortResubmission(input: $input) {
    __typename
    ... on AbortResubmissionPayload {
      resubmission {
        ...ResubmissionSummary
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
}
fragment ResubmissionSummary on Resubmission {
  resubmissionId
  clientKey
  action
  actor
  state
  total
  done
  pending
  refusedCount
  createdAt
  finishedAt
  abortedBy
}`) as unknown as TypedDocumentString<AbortResubmissionMutation, AbortResubmissionMutationVariables>;
export const ResubmissionDocument = new TypedDocumentString(`
    query Resubmission($id: UUID!) {
  resubmission(id: $id) {
    ...ResubmissionSummary
  }
}
    fragment ResubmissionSummary on Resubmission {
  resubmissionId
  clientKey
  action
  actor
  state
  total
  done
  pending
  refusedCount
  createdAt
  finishedAt
  abortedBy
}`) as unknown as TypedDocumentString<ResubmissionQuery, ResubmissionQueryVariables>;
export const ResubmissionsDocument = new TypedDocumentString(`
    query Resubmissions($first: Int, $after: String) {
  resubmissions(first: $first, after: $after) {
    pageInfo {
      hasNextPage
      endCursor
    }
    edges {
      cursor
      node {
        ...ResubmissionSummary
      }
    }
  }
}
    fragment ResubmissionSummary on Resubmission {
  resubmissionId
  clientKey
  action
  actor
  state
  total
  done
  pending
  refusedCount
  createdAt
  finishedAt
  abortedBy
}`) as unknown as TypedDocumentString<ResubmissionsQuery, ResubmissionsQueryVariables>;
export const ResubmissionItemsDocument = new TypedDocumentString(`
    query ResubmissionItems($id: UUID!, $status: ResubmissionItemStatus, $first: Int, $after: String) {
  resubmission(id: $id) {
    items(status: $status, first: $first, after: $after) {
      pageInfo {
        hasNextPage
        endCursor
      }
      edges {
        cursor
        node {
          position
          sessionId
          status
          childSessionId
          code
          message
        }
      }
    }
  }
}
    `) as unknown as TypedDocumentString<ResubmissionItemsQuery, ResubmissionItemsQueryVariables>;
export const TerminateSessionsDocument = new TypedDocumentString(`
    mutation TerminateSessions($input: TerminateSessionsInput!) {
  terminateSessions(input: $input) {
    __typename
    ... on TerminateSessionsPayload {
      resubmission {
        ...ResubmissionSummary
      }
      sessions {
        ...SessionSummary
      }
      refused {
        sessionId
        code
        message
      }
    }
    ... on DryRun {
      total
      count
      sessions {
        ...SessionSummary
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
}
fragment SessionSummary on Session {
  sessionId
  creationId
  name
  sessionType
  status
  result
  statusReason
  pendingReason
  exitCode
  failureCause
  chainId
  attempt
  epoch
  origin
  retryCount
  maxRetries
  retryCause
  priority
  project {
    name
  }
  resourceGroup {
    name
  }
  labels {
    key
    value
  }
  createdAt
  startedAt
  terminatedAt
  statusChangedAt
  retryState {
    phase
    attempt
    maxAttempts
    label
    reason
    scheduledAt
    delaySeconds
  }
}
fragment ResubmissionSummary on Resubmission {
  resubmissionId
  clientKey
  action
  actor
  state
  total
  done
  pending
  refusedCount
  createdAt
  finishedAt
  abortedBy
}`) as unknown as TypedDocumentString<TerminateSessionsMutation, TerminateSessionsMutationVariables>;
export const CancelRetriesDocument = new TypedDocumentString(`
    mutation CancelRetries($input: CancelRetriesInput!) {
  cancelRetries(input: $input) {
    __typename
    ... on CancelRetriesPayload {
      resubmission {
        ...ResubmissionSummary
      }
      sessions {
        ...SessionSummary
      }
      refused {
        sessionId
        code
        message
      }
    }
    ... on DryRun {
      total
      count
      sessions {
        ...SessionSummary
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
}
fragment SessionSummary on Session {
  sessionId
  creationId
  name
  sessionType
  status
  result
  statusReason
  pendingReason
  exitCode
  failureCause
  chainId
  attempt
  epoch
  origin
  retryCount
  maxRetries
  retryCause
  priority
  project {
    name
  }
  resourceGroup {
    name
  }
  labels {
    key
    value
  }
  createdAt
  startedAt
  terminatedAt
  statusChangedAt
  retryState {
    phase
    attempt
    maxAttempts
    label
    reason
    scheduledAt
    delaySeconds
  }
}
fragment ResubmissionSummary on Resubmission {
  resubmissionId
  clientKey
  action
  actor
  state
  total
  done
  pending
  refusedCount
  createdAt
  finishedAt
  abortedBy
}`) as unknown as TypedDocumentString<CancelRetriesMutation, CancelRetriesMutationVariables>;
export const RetryNowManyDocument = new TypedDocumentString(`
    mutation RetryNowMany($input: RetryNowManyInput!) {
  retryNowMany(input: $input) {
    __typename
    ... on RetryNowManyPayload {
      resubmission {
        ...ResubmissionSummary
      }
      sessions {
        ...SessionSummary
      }
      refused {
        sessionId
        code
        message
      }
    }
    ... on DryRun {
      total
      count
      sessions {
        ...SessionSummary
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
}
fragment SessionSummary on Session {
  sessionId
  creationId
  name
  sessionType
  status
  result
  statusReason
  pendingReason
  exitCode
  failureCause
  chainId
  attempt
  epoch
  origin
  retryCount
  maxRetries
  retryCause
  priority
  project {
    name
  }
  resourceGroup {
    name
  }
  labels {
    key
    value
  }
  createdAt
  startedAt
  terminatedAt
  statusChangedAt
  retryState {
    phase
    attempt
    maxAttempts
    label
    reason
    scheduledAt
    delaySeconds
  }
}
fragment ResubmissionSummary on Resubmission {
  resubmissionId
  clientKey
  action
  actor
  state
  total
  done
  pending
  refusedCount
  createdAt
  finishedAt
  abortedBy
}`) as unknown as TypedDocumentString<RetryNowManyMutation, RetryNowManyMutationVariables>;
export const RetryPolicyPreviewDocument = new TypedDocumentString(`
    query RetryPolicyPreview($policy: RetryPolicyInput!, $cause: FailureCause, $exitCode: Int, $sessionId: UUID) {
  retryPolicyPreview(
    policy: $policy
    cause: $cause
    exitCode: $exitCode
    sessionId: $sessionId
  ) {
    eligible
    explanation
    schedule {
      ...Planned
    }
  }
}
    fragment Planned on PlannedRetry {
  retry
  delaySeconds
  earliestSeconds
  latestSeconds
  elapsedSeconds
  resourceSlots {
    slot
    amount
  }
  batchTimeout
}`) as unknown as TypedDocumentString<RetryPolicyPreviewQuery, RetryPolicyPreviewQueryVariables>;
export const AirflowPolicyPreviewDocument = new TypedDocumentString(`
    query AirflowPolicyPreview($settings: AirflowSettingsInput!) {
  airflowPolicyPreview(settings: $settings) {
    policy {
      ...Policy
    }
    schedule {
      ...Planned
    }
    airflowDelays {
      retry
      delaySeconds
      earliestSeconds
      latestSeconds
      elapsedSeconds
    }
    explanation {
      alike
      differs
    }
  }
}
    fragment Policy on RetryPolicy {
  maxRetries
  retryDelay
  backoff
  backoffMultiplier
  maxRetryDelay
  jitter
  jitterRatio
  eligibleCauses
  emitRetryEvents
  maxElapsed
  countPreStartFailures
  maxUncountedRetries
  trustVerdicts
  rules {
    ...Rule
  }
  sources {
    field
    source
  }
}
fragment Rule on RetryRule {
  action
  avoid
  exclude
  delay
  match {
    causes
    exitCodes
    exitCodesNotIn
    reason
  }
  scaleResources {
    slot
    factor
    max
  }
  scaleTimeout {
    factor
    max
  }
}
fragment Planned on PlannedRetry {
  retry
  delaySeconds
  earliestSeconds
  latestSeconds
  elapsedSeconds
  resourceSlots {
    slot
    amount
  }
  batchTimeout
}`) as unknown as TypedDocumentString<AirflowPolicyPreviewQuery, AirflowPolicyPreviewQueryVariables>;
export const RetryDecisionsDocument = new TypedDocumentString(`
    query RetryDecisions($filter: RetryDecisionFilter, $first: Int, $after: String) {
  retryDecisions(filter: $filter, first: $first, after: $after) {
    pageInfo {
      hasNextPage
      endCursor
    }
    edges {
      cursor
      node {
        ...Decision
      }
    }
  }
}
    fragment Decision on RetryDecision {
  sessionId
  chainId
  phase
  cause
  matchedRule
  counted
  explanation
  baseDelaySeconds
  jitterSeconds
  delaySeconds
  dueAt
  holdReason
  childSession {
    sessionId
  }
  decidedAt
  dispatchedAt
}`) as unknown as TypedDocumentString<RetryDecisionsQuery, RetryDecisionsQueryVariables>;
export const RetryDefaultsDocument = new TypedDocumentString(`
    query RetryDefaults {
  retryDefaults {
    ...Defaults
  }
}
    fragment PartialPolicy on PartialRetryPolicy {
  given
  maxRetries
  retryDelay
  backoff
  backoffMultiplier
  maxRetryDelay
  jitter
  jitterRatio
  eligibleCauses
  emitRetryEvents
  maxElapsed
  countPreStartFailures
  maxUncountedRetries
  trustVerdicts
  rules {
    ...Rule
  }
}
fragment Rule on RetryRule {
  action
  avoid
  exclude
  delay
  match {
    causes
    exitCodes
    exitCodesNotIn
    reason
  }
  scaleResources {
    slot
    factor
    max
  }
  scaleTimeout {
    factor
    max
  }
}
fragment Defaults on RetryDefaults {
  scope
  name
  policy {
    ...PartialPolicy
  }
}`) as unknown as TypedDocumentString<RetryDefaultsQuery, RetryDefaultsQueryVariables>;
export const SetRetryDefaultsDocument = new TypedDocumentString(`
    mutation SetRetryDefaults($input: SetRetryDefaultsInput!) {
  setRetryDefaults(input: $input) {
    __typename
    ... on SetRetryDefaultsPayload {
      retryDefaults {
        ...Defaults
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
}
fragment PartialPolicy on PartialRetryPolicy {
  given
  maxRetries
  retryDelay
  backoff
  backoffMultiplier
  maxRetryDelay
  jitter
  jitterRatio
  eligibleCauses
  emitRetryEvents
  maxElapsed
  countPreStartFailures
  maxUncountedRetries
  trustVerdicts
  rules {
    ...Rule
  }
}
fragment Rule on RetryRule {
  action
  avoid
  exclude
  delay
  match {
    causes
    exitCodes
    exitCodesNotIn
    reason
  }
  scaleResources {
    slot
    factor
    max
  }
  scaleTimeout {
    factor
    max
  }
}
fragment Defaults on RetryDefaults {
  scope
  name
  policy {
    ...PartialPolicy
  }
}`) as unknown as TypedDocumentString<SetRetryDefaultsMutation, SetRetryDefaultsMutationVariables>;
export const RetrySwitchesDocument = new TypedDocumentString(`
    query RetrySwitches {
  retrySwitches {
    ...Switch
  }
}
    fragment Switch on RetrySwitch {
  scope
  name
  disabled
  disabledUntil
  rateLimit {
    perSecond
    burst
  }
  rateLimitUntil
}`) as unknown as TypedDocumentString<RetrySwitchesQuery, RetrySwitchesQueryVariables>;
export const SetRetrySwitchDocument = new TypedDocumentString(`
    mutation SetRetrySwitch($input: SetRetrySwitchInput!) {
  setRetrySwitch(input: $input) {
    __typename
    ... on SetRetrySwitchPayload {
      retrySwitch {
        ...Switch
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
}
fragment Switch on RetrySwitch {
  scope
  name
  disabled
  disabledUntil
  rateLimit {
    perSecond
    burst
  }
  rateLimitUntil
}`) as unknown as TypedDocumentString<SetRetrySwitchMutation, SetRetrySwitchMutationVariables>;
export const SessionDocument = new TypedDocumentString(`
    query Session($id: UUID!) {
  session(id: $id) {
    ...SessionDetail
  }
}
    fragment SessionSummary on Session {
  sessionId
  creationId
  name
  sessionType
  status
  result
  statusReason
  pendingReason
  exitCode
  failureCause
  chainId
  attempt
  epoch
  origin
  retryCount
  maxRetries
  retryCause
  priority
  project {
    name
  }
  resourceGroup {
    name
  }
  labels {
    key
    value
  }
  createdAt
  startedAt
  terminatedAt
  statusChangedAt
  retryState {
    phase
    attempt
    maxAttempts
    label
    reason
    scheduledAt
    delaySeconds
  }
}
fragment KernelSummary on Kernel {
  id
  kernelId
  role
  index
  status
  exitCode
  oomKilled
  reason
  agent {
    agentId
    name
  }
  startedAt
  terminatedAt
}
fragment Decision on RetryDecision {
  sessionId
  chainId
  phase
  cause
  matchedRule
  counted
  explanation
  baseDelaySeconds
  jitterSeconds
  delaySeconds
  dueAt
  holdReason
  childSession {
    sessionId
  }
  decidedAt
  dispatchedAt
}
fragment Attempt on Session {
  ...SessionSummary
  parentSession {
    sessionId
  }
  kernels {
    ...KernelSummary
  }
  retryDecision {
    ...Decision
  }
}
fragment Policy on RetryPolicy {
  maxRetries
  retryDelay
  backoff
  backoffMultiplier
  maxRetryDelay
  jitter
  jitterRatio
  eligibleCauses
  emitRetryEvents
  maxElapsed
  countPreStartFailures
  maxUncountedRetries
  trustVerdicts
  rules {
    ...Rule
  }
  sources {
    field
    source
  }
}
fragment Rule on RetryRule {
  action
  avoid
  exclude
  delay
  match {
    causes
    exitCodes
    exitCodesNotIn
    reason
  }
  scaleResources {
    slot
    factor
    max
  }
  scaleTimeout {
    factor
    max
  }
}
fragment SessionDetail on Session {
  ...Attempt
  image
  command
  environ {
    name
    value
  }
  secretEnviron
  resourceSlots {
    slot
    amount
  }
  clusterMode
  clusterSize
  batchTimeout
  startsAt
  childSession {
    sessionId
  }
  retryPolicy {
    ...Policy
  }
  retryChain {
    ...Attempt
  }
}`) as unknown as TypedDocumentString<SessionQuery, SessionQueryVariables>;
export const ChainDocument = new TypedDocumentString(`
    query Chain($id: UUID!) {
  session(id: $id) {
    retryChain {
      ...Attempt
    }
  }
}
    fragment SessionSummary on Session {
  sessionId
  creationId
  name
  sessionType
  status
  result
  statusReason
  pendingReason
  exitCode
  failureCause
  chainId
  attempt
  epoch
  origin
  retryCount
  maxRetries
  retryCause
  priority
  project {
    name
  }
  resourceGroup {
    name
  }
  labels {
    key
    value
  }
  createdAt
  startedAt
  terminatedAt
  statusChangedAt
  retryState {
    phase
    attempt
    maxAttempts
    label
    reason
    scheduledAt
    delaySeconds
  }
}
fragment KernelSummary on Kernel {
  id
  kernelId
  role
  index
  status
  exitCode
  oomKilled
  reason
  agent {
    agentId
    name
  }
  startedAt
  terminatedAt
}
fragment Decision on RetryDecision {
  sessionId
  chainId
  phase
  cause
  matchedRule
  counted
  explanation
  baseDelaySeconds
  jitterSeconds
  delaySeconds
  dueAt
  holdReason
  childSession {
    sessionId
  }
  decidedAt
  dispatchedAt
}
fragment Attempt on Session {
  ...SessionSummary
  parentSession {
    sessionId
  }
  kernels {
    ...KernelSummary
  }
  retryDecision {
    ...Decision
  }
}`) as unknown as TypedDocumentString<ChainQuery, ChainQueryVariables>;
export const SessionsDocument = new TypedDocumentString(`
    query Sessions($filter: SessionFilter, $orderBy: [SessionOrder!], $first: Int, $after: String, $withTotal: Boolean = false) {
  sessions(filter: $filter, orderBy: $orderBy, first: $first, after: $after) {
    totalCount @include(if: $withTotal)
    totalCountIsExact @include(if: $withTotal)
    pageInfo {
      hasNextPage
      endCursor
    }
    edges {
      cursor
      node {
        ...SessionSummary
      }
    }
  }
}
    fragment SessionSummary on Session {
  sessionId
  creationId
  name
  sessionType
  status
  result
  statusReason
  pendingReason
  exitCode
  failureCause
  chainId
  attempt
  epoch
  origin
  retryCount
  maxRetries
  retryCause
  priority
  project {
    name
  }
  resourceGroup {
    name
  }
  labels {
    key
    value
  }
  createdAt
  startedAt
  terminatedAt
  statusChangedAt
  retryState {
    phase
    attempt
    maxAttempts
    label
    reason
    scheduledAt
    delaySeconds
  }
}`) as unknown as TypedDocumentString<SessionsQuery, SessionsQueryVariables>;
export const SessionHistoryDocument = new TypedDocumentString(`
    query SessionHistory($id: UUID!, $first: Int, $after: String) {
  session(id: $id) {
    schedulingHistory(first: $first, after: $after) {
      pageInfo {
        hasNextPage
        endCursor
      }
      edges {
        cursor
        node {
          phase
          fromStatus
          toStatus
          result
          errorCode
          message
          attempts
          firstAt
          lastAt
        }
      }
    }
  }
}
    `) as unknown as TypedDocumentString<SessionHistoryQuery, SessionHistoryQueryVariables>;
export const CreateSessionDocument = new TypedDocumentString(`
    mutation CreateSession($input: CreateSessionInput!) {
  createSession(input: $input) {
    __typename
    ... on CreateSessionPayload {
      created
      session {
        ...SessionSummary
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
}
fragment SessionSummary on Session {
  sessionId
  creationId
  name
  sessionType
  status
  result
  statusReason
  pendingReason
  exitCode
  failureCause
  chainId
  attempt
  epoch
  origin
  retryCount
  maxRetries
  retryCause
  priority
  project {
    name
  }
  resourceGroup {
    name
  }
  labels {
    key
    value
  }
  createdAt
  startedAt
  terminatedAt
  statusChangedAt
  retryState {
    phase
    attempt
    maxAttempts
    label
    reason
    scheduledAt
    delaySeconds
  }
}`) as unknown as TypedDocumentString<CreateSessionMutation, CreateSessionMutationVariables>;
export const CreateSessionsDocument = new TypedDocumentString(`
    mutation CreateSessions($input: CreateSessionsInput!) {
  createSessions(input: $input) {
    __typename
    ... on CreateSessionsPayload {
      results {
        __typename
        ... on CreateSessionPayload {
          created
          session {
            ...SessionSummary
          }
        }
        ...Failure
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
}
fragment SessionSummary on Session {
  sessionId
  creationId
  name
  sessionType
  status
  result
  statusReason
  pendingReason
  exitCode
  failureCause
  chainId
  attempt
  epoch
  origin
  retryCount
  maxRetries
  retryCause
  priority
  project {
    name
  }
  resourceGroup {
    name
  }
  labels {
    key
    value
  }
  createdAt
  startedAt
  terminatedAt
  statusChangedAt
  retryState {
    phase
    attempt
    maxAttempts
    label
    reason
    scheduledAt
    delaySeconds
  }
}`) as unknown as TypedDocumentString<CreateSessionsMutation, CreateSessionsMutationVariables>;
export const TerminateSessionDocument = new TypedDocumentString(`
    mutation TerminateSession($input: TerminateSessionInput!) {
  terminateSession(input: $input) {
    __typename
    ... on TerminateSessionPayload {
      session {
        ...SessionSummary
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
}
fragment SessionSummary on Session {
  sessionId
  creationId
  name
  sessionType
  status
  result
  statusReason
  pendingReason
  exitCode
  failureCause
  chainId
  attempt
  epoch
  origin
  retryCount
  maxRetries
  retryCause
  priority
  project {
    name
  }
  resourceGroup {
    name
  }
  labels {
    key
    value
  }
  createdAt
  startedAt
  terminatedAt
  statusChangedAt
  retryState {
    phase
    attempt
    maxAttempts
    label
    reason
    scheduledAt
    delaySeconds
  }
}`) as unknown as TypedDocumentString<TerminateSessionMutation, TerminateSessionMutationVariables>;
export const CancelRetryDocument = new TypedDocumentString(`
    mutation CancelRetry($input: CancelRetryInput!) {
  cancelRetry(input: $input) {
    __typename
    ... on CancelRetryPayload {
      session {
        ...SessionSummary
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
}
fragment SessionSummary on Session {
  sessionId
  creationId
  name
  sessionType
  status
  result
  statusReason
  pendingReason
  exitCode
  failureCause
  chainId
  attempt
  epoch
  origin
  retryCount
  maxRetries
  retryCause
  priority
  project {
    name
  }
  resourceGroup {
    name
  }
  labels {
    key
    value
  }
  createdAt
  startedAt
  terminatedAt
  statusChangedAt
  retryState {
    phase
    attempt
    maxAttempts
    label
    reason
    scheduledAt
    delaySeconds
  }
}`) as unknown as TypedDocumentString<CancelRetryMutation, CancelRetryMutationVariables>;
export const RetryNowDocument = new TypedDocumentString(`
    mutation RetryNow($input: RetryNowInput!) {
  retryNow(input: $input) {
    __typename
    ... on RetryNowPayload {
      session {
        ...SessionSummary
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
}
fragment SessionSummary on Session {
  sessionId
  creationId
  name
  sessionType
  status
  result
  statusReason
  pendingReason
  exitCode
  failureCause
  chainId
  attempt
  epoch
  origin
  retryCount
  maxRetries
  retryCause
  priority
  project {
    name
  }
  resourceGroup {
    name
  }
  labels {
    key
    value
  }
  createdAt
  startedAt
  terminatedAt
  statusChangedAt
  retryState {
    phase
    attempt
    maxAttempts
    label
    reason
    scheduledAt
    delaySeconds
  }
}`) as unknown as TypedDocumentString<RetryNowMutation, RetryNowMutationVariables>;
export const UpdateRetryDocument = new TypedDocumentString(`
    mutation UpdateRetry($input: UpdateRetryInput!) {
  updateRetry(input: $input) {
    __typename
    ... on UpdateRetryPayload {
      session {
        ...SessionSummary
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
}
fragment SessionSummary on Session {
  sessionId
  creationId
  name
  sessionType
  status
  result
  statusReason
  pendingReason
  exitCode
  failureCause
  chainId
  attempt
  epoch
  origin
  retryCount
  maxRetries
  retryCause
  priority
  project {
    name
  }
  resourceGroup {
    name
  }
  labels {
    key
    value
  }
  createdAt
  startedAt
  terminatedAt
  statusChangedAt
  retryState {
    phase
    attempt
    maxAttempts
    label
    reason
    scheduledAt
    delaySeconds
  }
}`) as unknown as TypedDocumentString<UpdateRetryMutation, UpdateRetryMutationVariables>;
export const KernelLogTailDocument = new TypedDocumentString(`
    query KernelLogTail($id: ID!, $last: Int, $before: String) {
  node(id: $id) {
    __typename
    ... on Kernel {
      logs(last: $last, before: $before) {
        pageInfo {
          hasPreviousPage
          startCursor
        }
        edges {
          cursor
          node {
            cursor
            stream
            text
            at
          }
        }
      }
    }
  }
}
    `) as unknown as TypedDocumentString<KernelLogTailQuery, KernelLogTailQueryVariables>;
export const KernelLogPageDocument = new TypedDocumentString(`
    query KernelLogPage($id: ID!, $first: Int, $after: String) {
  node(id: $id) {
    __typename
    ... on Kernel {
      logs(first: $first, after: $after) {
        pageInfo {
          hasNextPage
          endCursor
        }
        edges {
          cursor
          node {
            cursor
            stream
            text
            at
          }
        }
      }
    }
  }
}
    `) as unknown as TypedDocumentString<KernelLogPageQuery, KernelLogPageQueryVariables>;
export const ViewerDocument = new TypedDocumentString(`
    query Viewer {
  viewer {
    ...TokenSummary
  }
}
    fragment TokenSummary on Token {
  tokenId
  name
  prefix
  role
  resourceGroups
  project {
    name
  }
  createdAt
  expiresAt
  revokedAt
  lastUsedAt
}`) as unknown as TypedDocumentString<ViewerQuery, ViewerQueryVariables>;
export const TokensDocument = new TypedDocumentString(`
    query Tokens($first: Int, $after: String) {
  tokens(first: $first, after: $after) {
    pageInfo {
      hasNextPage
      endCursor
    }
    edges {
      cursor
      node {
        ...TokenSummary
      }
    }
  }
}
    fragment TokenSummary on Token {
  tokenId
  name
  prefix
  role
  resourceGroups
  project {
    name
  }
  createdAt
  expiresAt
  revokedAt
  lastUsedAt
}`) as unknown as TypedDocumentString<TokensQuery, TokensQueryVariables>;
export const CreateTokenDocument = new TypedDocumentString(`
    mutation CreateToken($input: CreateTokenInput!) {
  createToken(input: $input) {
    __typename
    ... on CreateTokenPayload {
      secret
      token {
        ...TokenSummary
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
}
fragment TokenSummary on Token {
  tokenId
  name
  prefix
  role
  resourceGroups
  project {
    name
  }
  createdAt
  expiresAt
  revokedAt
  lastUsedAt
}`) as unknown as TypedDocumentString<CreateTokenMutation, CreateTokenMutationVariables>;
export const RevokeTokenDocument = new TypedDocumentString(`
    mutation RevokeToken($input: RevokeTokenInput!) {
  revokeToken(input: $input) {
    __typename
    ... on RevokeTokenPayload {
      token {
        ...TokenSummary
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
}
fragment TokenSummary on Token {
  tokenId
  name
  prefix
  role
  resourceGroups
  project {
    name
  }
  createdAt
  expiresAt
  revokedAt
  lastUsedAt
}`) as unknown as TypedDocumentString<RevokeTokenMutation, RevokeTokenMutationVariables>;
export const WebhooksDocument = new TypedDocumentString(`
    query Webhooks($project: String, $enabled: Boolean, $first: Int, $after: String) {
  webhooks(project: $project, enabled: $enabled, first: $first, after: $after) {
    pageInfo {
      hasNextPage
      endCursor
    }
    edges {
      cursor
      node {
        ...WebhookSummary
      }
    }
  }
}
    fragment WebhookSummary on Webhook {
  webhookId
  url
  description
  eventTypes
  project {
    name
  }
  chainId
  labels {
    key
    value
  }
  enabled
  disabledAt
  disabledReason
  failingSince
  restingUntil
  lastDeliveredAt
  previousSecretExpiresAt
  createdAt
}`) as unknown as TypedDocumentString<WebhooksQuery, WebhooksQueryVariables>;
export const WebhookDeliveriesDocument = new TypedDocumentString(`
    query WebhookDeliveries($webhookId: UUID!, $status: [WebhookDeliveryStatus!], $first: Int, $after: String) {
  webhookDeliveries(
    webhookId: $webhookId
    status: $status
    first: $first
    after: $after
  ) {
    pageInfo {
      hasNextPage
      endCursor
    }
    edges {
      cursor
      node {
        ...Delivery
      }
    }
  }
}
    fragment Delivery on WebhookDelivery {
  deliveryId
  messageId
  eventType
  status
  sessionId
  chainId
  occurredAt
  createdAt
  nextAttemptAt
  finishedAt
  attempts {
    number
    startedAt
    durationSeconds
    statusCode
    error
    response
  }
}`) as unknown as TypedDocumentString<WebhookDeliveriesQuery, WebhookDeliveriesQueryVariables>;
export const CreateWebhookDocument = new TypedDocumentString(`
    mutation CreateWebhook($input: CreateWebhookInput!) {
  createWebhook(input: $input) {
    __typename
    ... on CreateWebhookPayload {
      secret
      webhook {
        ...WebhookSummary
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
}
fragment WebhookSummary on Webhook {
  webhookId
  url
  description
  eventTypes
  project {
    name
  }
  chainId
  labels {
    key
    value
  }
  enabled
  disabledAt
  disabledReason
  failingSince
  restingUntil
  lastDeliveredAt
  previousSecretExpiresAt
  createdAt
}`) as unknown as TypedDocumentString<CreateWebhookMutation, CreateWebhookMutationVariables>;
export const UpdateWebhookDocument = new TypedDocumentString(`
    mutation UpdateWebhook($input: UpdateWebhookInput!) {
  updateWebhook(input: $input) {
    __typename
    ... on UpdateWebhookPayload {
      webhook {
        ...WebhookSummary
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
}
fragment WebhookSummary on Webhook {
  webhookId
  url
  description
  eventTypes
  project {
    name
  }
  chainId
  labels {
    key
    value
  }
  enabled
  disabledAt
  disabledReason
  failingSince
  restingUntil
  lastDeliveredAt
  previousSecretExpiresAt
  createdAt
}`) as unknown as TypedDocumentString<UpdateWebhookMutation, UpdateWebhookMutationVariables>;
export const DeleteWebhookDocument = new TypedDocumentString(`
    mutation DeleteWebhook($input: DeleteWebhookInput!) {
  deleteWebhook(input: $input) {
    __typename
    ... on DeleteWebhookPayload {
      webhookId
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
}`) as unknown as TypedDocumentString<DeleteWebhookMutation, DeleteWebhookMutationVariables>;
export const RotateWebhookSecretDocument = new TypedDocumentString(`
    mutation RotateWebhookSecret($input: RotateWebhookSecretInput!) {
  rotateWebhookSecret(input: $input) {
    __typename
    ... on RotateWebhookSecretPayload {
      secret
      webhook {
        ...WebhookSummary
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
}
fragment WebhookSummary on Webhook {
  webhookId
  url
  description
  eventTypes
  project {
    name
  }
  chainId
  labels {
    key
    value
  }
  enabled
  disabledAt
  disabledReason
  failingSince
  restingUntil
  lastDeliveredAt
  previousSecretExpiresAt
  createdAt
}`) as unknown as TypedDocumentString<RotateWebhookSecretMutation, RotateWebhookSecretMutationVariables>;
export const SendTestEventDocument = new TypedDocumentString(`
    mutation SendTestEvent($input: SendTestEventInput!) {
  sendTestEvent(input: $input) {
    __typename
    ... on SendTestEventPayload {
      delivery {
        ...Delivery
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
}
fragment Delivery on WebhookDelivery {
  deliveryId
  messageId
  eventType
  status
  sessionId
  chainId
  occurredAt
  createdAt
  nextAttemptAt
  finishedAt
  attempts {
    number
    startedAt
    durationSeconds
    statusCode
    error
    response
  }
}`) as unknown as TypedDocumentString<SendTestEventMutation, SendTestEventMutationVariables>;
export const ReplayDeliveryDocument = new TypedDocumentString(`
    mutation ReplayDelivery($input: ReplayDeliveryInput!) {
  replayDelivery(input: $input) {
    __typename
    ... on ReplayDeliveryPayload {
      delivery {
        ...Delivery
      }
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
}
fragment Delivery on WebhookDelivery {
  deliveryId
  messageId
  eventType
  status
  sessionId
  chainId
  occurredAt
  createdAt
  nextAttemptAt
  finishedAt
  attempts {
    number
    startedAt
    durationSeconds
    statusCode
    error
    response
  }
}`) as unknown as TypedDocumentString<ReplayDeliveryMutation, ReplayDeliveryMutationVariables>;
export const ReplayWebhookDocument = new TypedDocumentString(`
    mutation ReplayWebhook($input: ReplayWebhookInput!) {
  replayWebhook(input: $input) {
    __typename
    ... on ReplayWebhookPayload {
      replayed
      more
    }
    ...Failure
  }
}
    fragment Failure on Error {
  __typename
  code
  message
  ... on ValidationError {
    issues {
      path
      message
    }
  }
}`) as unknown as TypedDocumentString<ReplayWebhookMutation, ReplayWebhookMutationVariables>;
