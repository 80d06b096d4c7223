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

/** Whose retries are cancelled. One of `sessionIds`, `filter` and `chainFilter`. */
export type CancelRetriesInput = {
  /** The newest sessions of the chains that match now, under the same conditions as `filter`. */
  chainFilter?: ChainFilter | null | undefined;
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
  /** With an attempt that failed so, whatever came after it. */
  failed?: FailureFilter | null | undefined;
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

/** All given conditions must match. */
export type ChangeFilter = {
  /** In these chains, at most 200: their sessions, and nothing else. */
  chainIds?: Array<string> | null | undefined;
  /** In the project of this name. Agents are of all projects. */
  project?: string | null | undefined;
};

/** What a session found of the checkpoint of earlier attempts. */
export type CheckpointState =
  /** It was brought there from elsewhere. */
  | 'FETCHED'
  /** It was in its directory. */
  | 'HERE'
  /** There was one, and it could not be had. */
  | 'MISSING'
  /** There was none. */
  | 'NONE';

/** Whether a retry goes where the checkpoint of earlier attempts is. */
export type CheckpointWish =
  /** Anywhere. */
  | 'IGNORE'
  /** If an agent that has it fits; otherwise elsewhere, without it. */
  | 'PREFER'
  /** Nowhere else, as long as `checkpointWait` says; then as PREFER. */
  | 'REQUIRE';

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
  /** Container image of its program; for agents without containers, a preset of environment and interpreter. */
  image?: string | null | undefined;
  /** Labels of your choice. */
  labels?: Array<LabelInput> | null | undefined;
  /** Maximum number of extra replicas during an update. Null: a quarter of the replicas, rounded up. */
  maxSurge?: number | null | undefined;
  /** Minimum number of healthy replicas during an update. Null: three quarters of the replicas, rounded up. */
  minHealthy?: number | null | undefined;
  /** Volumes for its routes. An agent of the resource group must have all of them for its project. */
  mounts?: Array<MountInput> | null | undefined;
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

/** A group of projects. */
export type CreateDomainInput = {
  /** Its name, unique among domains. */
  name: string;
};

/** The project to create. */
export type CreateProjectInput = {
  /** The domain that it belongs to; `default` where none is named. */
  domain?: string | null | undefined;
  /** Its name, unique among projects. */
  name: string;
};

/** Missing fields have their defaults. */
export type CreateResourceGroupInput = {
  /** Keys of executor options that sessions may set themselves, also in place of those of the group. */
  allowedExecutorOptions?: Array<string> | null | undefined;
  /** Session types accepted by the group. Not empty. */
  allowedSessionTypes?: Array<SessionType> | null | undefined;
  /** Timeout in PREPARED and CREATING, in seconds; null means no timeout. */
  createTimeout?: number | null | undefined;
  /** Reason, shown to people and by waiting sessions. */
  drainReason?: string | null | undefined;
  /** True: nothing new is scheduled in it; running kernels keep running. */
  draining?: boolean | null | undefined;
  /** What executors are told of all sessions in the group, in place of what it has. Kernels that are ordered later learn it. */
  executorOptions?: Array<ExecutorOptionInput> | null | undefined;
  /** Seconds without a response after which an agent stops its kernels by itself, at least 10. An agent applies a change from its next registration. */
  fenceAfter?: number | null | undefined;
  /** How often a session may go back to PENDING. */
  maxReschedules?: number | null | undefined;
  /** Number of failures of one handler after which a session gives up. */
  maxTries?: number | null | undefined;
  /** Its name. */
  name: string;
  /** Timeout in PENDING, in seconds; null means no timeout. */
  pendingTimeout?: number | null | undefined;
  /** Timeout in SCHEDULED, PREPARING and PULLING, in seconds; null means no timeout. */
  prepareTimeout?: number | null | undefined;
  /** How long kernels may wait in the queue of Slurm, in seconds, until their session fails with SCHEDULER_TIMEOUT; null means no timeout. */
  queueTimeout?: number | null | undefined;
  /** How an agent is selected. */
  selector?: AgentSelector | null | undefined;
  /** In which order sessions are scheduled. */
  sequencer?: Sequencer | null | undefined;
  /** Grace period in seconds between asking a kernel to stop and killing it. */
  stopGrace?: number | null | undefined;
  /** Timeout in TERMINATING, in seconds; more than `stopGrace`. */
  terminateTimeout?: number | null | undefined;
};

/** When to run what. Either `cron` or `every` must be given. */
export type CreateScheduleInput = {
  /** How many missed runs to make after a downtime, the last ones: 0 to 100. */
  catchUp?: number | null | undefined;
  /** Five fields, as in `30 2 * * 1-5`, or a name like `@daily`. Local times that daylight saving skips or repeats: see docs/schedules.md. */
  cron?: string | null | undefined;
  /** Seconds between two runs, at least 1; instead of `cron`. */
  every?: number | null | undefined;
  /** Spreads runs over so many seconds after their planned time, at most 3600. */
  jitter?: number | null | undefined;
  /** Its name, unique in its project. */
  name: string;
  /** What happens to a run that is due while an earlier one goes on. */
  overlap?: ScheduleOverlap | null | undefined;
  /** Make no runs until it is resumed. */
  paused?: boolean | null | undefined;
  /** What to run, and how. Its project is the schedule’s; `creationId`, `startsAt` and `dependsOn` are not for schedules. */
  session: CreateSessionInput;
  /** Time zone of `cron`, like `Europe/Berlin`. */
  timeZone?: string | null | undefined;
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
  /** SHA-256 of code that was uploaded for the project (`PUT /v2/code/{sha256}`): its kernels find the files in their working directory. */
  codeSha256?: string | null | undefined;
  /** The program and its arguments: `["sh", "-c", "exit 3"]`. */
  command: Array<string>;
  /** Of the sessions of its project with this key only `concurrencyLimit` are placed at once. */
  concurrencyKey?: string | null | undefined;
  /** How many with its `concurrencyKey`, 1 to 1000; 1 if nothing is said. */
  concurrencyLimit?: number | null | undefined;
  /** Idempotency key chosen by the client, unique in the project. The endings `:retry:<number>` and `:resubmission:<number>` are reserved. */
  creationId?: string | null | undefined;
  /** Sessions whose chains must succeed first. */
  dependsOn?: Array<string> | null | undefined;
  /** Environment of its kernels, in addition to the variables set by Reprise. */
  environ?: Array<EnvVarInput> | null | undefined;
  /** Agents that must not run it, nor its retries: it waits if no other is left. */
  excludeAgents?: Array<string> | null | undefined;
  /** What the executor is told beside the resource group's own options, as the `partition` of a Slurm cluster; only keys of the group's `allowedExecutorOptions`. Retries and resubmissions keep them. */
  executorOptions?: Array<ExecutorOptionInput> | null | undefined;
  /** Container image of its kernels; for agents without containers, a preset of environment and interpreter. */
  image?: string | null | undefined;
  /** Labels of your choice. */
  labels?: Array<LabelInput> | null | undefined;
  /** Volumes for its kernels. It runs on agents that have all of them for its project. Retries and resubmissions keep them. */
  mounts?: Array<MountInput> | null | undefined;
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

/** Somebody who creates sessions. */
export type CreateUserInput = {
  /** Its name, unique among users. */
  name: string;
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

/** Which group. */
export type DeleteResourceGroupInput = {
  /** Its name. */
  name: string;
};

/** Which schedule to delete. */
export type DeleteScheduleInput = {
  /** Which. */
  scheduleId: string;
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
  /** The beginning of the id: at least its first 8 hexadecimal digits. */
  idPrefix?: string | null | undefined;
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

/** What executors are told in their own terms. */
export type ExecutorOptionInput = {
  /** Which: `partition`, `qos`, … */
  key: string;
  /** Its value: letters, digits and _ . , : & | * ( ) [ ] -. */
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

/** An attempt that failed. All given conditions must match, of the same attempt. */
export type FailureFilter = {
  /** With a kernel on the agent of this id. */
  agent?: string | null | undefined;
  /** By when it ended. */
  at?: DateTimeFilter | null | undefined;
  /** For one of these causes. */
  cause?: Array<FailureCause> | null | undefined;
  /** With one of these exit codes. */
  exitCode?: Array<number> | null | undefined;
};

/** By what failures are counted together. */
export type FailureGrouping =
  /** By the agents of the kernels: one on several agents is counted for each. */
  | 'AGENT'
  /** By their cause. */
  | 'CAUSE'
  /** By their exit code, as far as they have one. */
  | 'EXIT_CODE'
  /** By each of the session's labels: one with several is counted for each. */
  | 'LABEL'
  /** By the name of the session. */
  | 'NAME';

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

/** A volume of agents for kernels. */
export type MountInput = {
  /** Where kernels find it: absolute, of letters, digits and _ . @ + -, not within /work, /chain, /tmp, /proc, /sys, /dev or another one. */
  path: string;
  /** Kernels are not to change what is in it. */
  readOnly?: boolean | null | undefined;
  /** The name that agents have for it, as in `volumes`. */
  volume: string;
};

/** Which way. */
export type OrderDirection =
  /** Smallest, oldest first. */
  | 'ASC'
  /** Largest, newest first. */
  | 'DESC';

/** Which schedule to pause. */
export type PauseScheduleInput = {
  /** Why, for people. */
  reason?: string | null | undefined;
  /** Which. */
  scheduleId: string;
};

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

/** Which agent. */
export type RemoveAgentInput = {
  /** Its id. */
  agentId: string;
  /** Why, for people. */
  reason?: string | null | undefined;
};

/** The membership to remove. */
export type RemoveProjectMemberInput = {
  /** Name of the project. */
  project: string;
  /** Name of the user. */
  user: string;
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
  /** How much, as a decimal: `0.5`, `2`; bytes take k, m, g, t (binary): `2g`, `512 MiB`. */
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
  /** SHA-256 of code that was uploaded for their project, in place of what they had. */
  codeSha256?: string | null | undefined;
  /** Variables by name; other variables stay. */
  environ?: Array<EnvVarInput> | null | undefined;
  /** Agents that must not run it; replaces those that retries have come to exclude. An empty list removes the restriction. */
  excludeAgents?: Array<string> | null | undefined;
  /** True: the new attempt begins with an empty directory, without the checkpoint of earlier ones. */
  freshCheckpoint?: boolean | null | undefined;
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

/** Which sessions get a new budget, and what is changed. One of `sessionIds`, `filter` and `chainFilter`. */
export type ResubmitSessionsInput = {
  /** The newest sessions of the chains that match now, under the same conditions as `filter`. */
  chainFilter?: ChainFilter | null | undefined;
  /** Idempotency key chosen by the client, unique in the project: the same key returns the first call’s resubmission. */
  clientKey?: string | null | undefined;
  /** True: nothing is done or recorded; the answer says to how many it would be. */
  dryRun?: boolean | null | undefined;
  /** The sessions that match now, at most 100000. What matches later is not among them; an empty filter is refused. */
  filter?: SessionFilter | null | undefined;
  /** True: sessions that were cancelled because one of these chains failed, directly or through others, come back as well, without overrides. Those that also depend on a chain that has failed and is not resubmitted are refused. */
  includeDependents?: boolean | null | undefined;
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

/** Which schedule to resume. */
export type ResumeScheduleInput = {
  /** Which. */
  scheduleId: string;
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

/** Whose retries are made due now. One of `sessionIds`, `filter` and `chainFilter`. */
export type RetryNowManyInput = {
  /** The newest sessions of the chains that match now, under the same conditions as `filter`. */
  chainFilter?: ChainFilter | null | undefined;
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
  /** Whether a retry goes where the checkpoint of earlier attempts is. */
  checkpoint?: CheckpointWish | null | undefined;
  /** How long a session that requires its checkpoint waits before it does without: more than 0. */
  checkpointWait?: number | null | undefined;
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
  /** True: a retry runs the very image that the attempt before ran, whatever its tag stands for by then. */
  pinImage?: boolean | null | undefined;
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

/** Which schedule to run. */
export type RunScheduleNowInput = {
  /** Which. */
  scheduleId: string;
};

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

/** All given conditions must match. */
export type ScheduleFilter = {
  /** By name. */
  name?: StringFilter | null | undefined;
  /** Paused ones, or those that are not. */
  paused?: boolean | null | undefined;
  /** In the project of this name. */
  project?: string | null | undefined;
};

/** What happens to a run that is due while a chain of its schedule goes on. */
export type ScheduleOverlap =
  /** What goes on is ended, and then the run starts. */
  | 'CANCEL_OTHER'
  /** It waits until that has ended; at most 100 wait. */
  | 'QUEUE'
  /** It is not made. */
  | 'SKIP';

/** What became of a run. */
export type ScheduleRunOutcome =
  /** No server could make it in time, and `catchUp` does not reach it. */
  | 'MISSED'
  /** It waits for an earlier one to end. */
  | 'QUEUED'
  /** Its session was refused, as `createSession` would have: `code` and `reason` say why. */
  | 'REFUSED'
  /** It was not made, because of another run: `reason` says why. */
  | 'SKIPPED'
  /** It made a chain. */
  | 'STARTED';

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
  /** It started without the checkpoint that an earlier attempt had left. */
  | 'CHECKPOINT_MISSING'
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
  /** With this concurrency key. */
  concurrencyKey?: string | null | undefined;
  /** By when it was created. */
  createdAt?: DateTimeFilter | null | undefined;
  /** That start only once this chain has succeeded. */
  dependsOn?: string | null | undefined;
  /** Ended with one of these exit codes. */
  exitCode?: Array<number> | null | undefined;
  /** Failed for one of these causes. */
  failureCause?: Array<FailureCause> | null | undefined;
  /** With one of these `failureReason`s. */
  failureReason?: Array<string> | null | undefined;
  /** The beginning of the id: at least its first 8 hexadecimal digits. */
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
  /** By `statusReason`: why it has its status, in words. */
  statusReason?: StringFilter | null | undefined;
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

/** Who is what in a project. */
export type SetProjectMemberInput = {
  /** Name of the project. */
  project: string;
  /** ADMIN, MEMBER or VIEWER. */
  role: TokenRole;
  /** Name of the user. */
  user: string;
};

/** What to change. Missing fields stay as they are; null removes a limit. */
export type SetQuotaInput = {
  /** Limit on the bytes of all checkpoints, such as `500g`. While they have as much, no new chain starts. */
  maxCheckpointBytes?: string | null | undefined;
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
  /** Why, for people. */
  reason?: string | null | undefined;
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

/** Which sessions are terminated. One of `sessionIds`, `filter` and `chainFilter`. */
export type TerminateSessionsInput = {
  /** The newest sessions of the chains that match now, under the same conditions as `filter`. */
  chainFilter?: ChainFilter | null | undefined;
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
  /** Container image of its program; for agents without containers, a preset of environment and interpreter. Null: none. */
  image?: string | null | undefined;
  /** All labels of your choice. */
  labels?: Array<LabelInput> | null | undefined;
  /** All volumes for its routes, as for `createDeployment`. */
  mounts?: Array<MountInput> | null | undefined;
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

/** Missing fields stay as they are. */
export type UpdateResourceGroupInput = {
  /** Keys of executor options that sessions may set themselves, also in place of those of the group. */
  allowedExecutorOptions?: Array<string> | null | undefined;
  /** Session types accepted by the group. Not empty. */
  allowedSessionTypes?: Array<SessionType> | null | undefined;
  /** Timeout in PREPARED and CREATING, in seconds; null means no timeout. */
  createTimeout?: number | null | undefined;
  /** Reason, shown to people and by waiting sessions. */
  drainReason?: string | null | undefined;
  /** True: nothing new is scheduled in it; running kernels keep running. */
  draining?: boolean | null | undefined;
  /** What executors are told of all sessions in the group, in place of what it has. Kernels that are ordered later learn it. */
  executorOptions?: Array<ExecutorOptionInput> | null | undefined;
  /** Seconds without a response after which an agent stops its kernels by itself, at least 10. An agent applies a change from its next registration. */
  fenceAfter?: number | null | undefined;
  /** How often a session may go back to PENDING. */
  maxReschedules?: number | null | undefined;
  /** Number of failures of one handler after which a session gives up. */
  maxTries?: number | null | undefined;
  /** Its name. */
  name: string;
  /** Timeout in PENDING, in seconds; null means no timeout. */
  pendingTimeout?: number | null | undefined;
  /** Timeout in SCHEDULED, PREPARING and PULLING, in seconds; null means no timeout. */
  prepareTimeout?: number | null | undefined;
  /** How long kernels may wait in the queue of Slurm, in seconds, until their session fails with SCHEDULER_TIMEOUT; null means no timeout. */
  queueTimeout?: number | null | undefined;
  /** How an agent is selected. */
  selector?: AgentSelector | null | undefined;
  /** In which order sessions are scheduled. */
  sequencer?: Sequencer | null | undefined;
  /** Grace period in seconds between asking a kernel to stop and killing it. */
  stopGrace?: number | null | undefined;
  /** Timeout in TERMINATING, in seconds; more than `stopGrace`. */
  terminateTimeout?: number | null | undefined;
};

/** The policy of a retry that waits, changed. */
export type UpdateRetryInput = {
  /** Its fields replace those of the session's policy; missing fields stay as they are. */
  policy: RetryPolicyInput;
  /** The session that failed. */
  sessionId: string;
};

/** What to change; fields that are missing or null stay as they are. */
export type UpdateScheduleInput = {
  /** How many missed runs to make: 0 to 100. */
  catchUp?: number | null | undefined;
  /** Five fields, as in `30 2 * * 1-5`, or a name like `@daily`. Local times that daylight saving skips or repeats: see docs/schedules.md. Replaces `every`. */
  cron?: string | null | undefined;
  /** Seconds between two runs, at least 1. Replaces `cron`. */
  every?: number | null | undefined;
  /** Over how many seconds to spread runs. */
  jitter?: number | null | undefined;
  /** Its name, unique in its project. */
  name?: string | null | undefined;
  /** What happens to runs that overlap. */
  overlap?: ScheduleOverlap | null | undefined;
  /** Which. */
  scheduleId: string;
  /** What to run from now on; replaces all of it, secret variables included. */
  session?: CreateSessionInput | null | undefined;
  /** Time zone of `cron`. */
  timeZone?: string | null | undefined;
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

/** Where the figures of a usage are from. */
export type UsageSource =
  /** The operating system counted each kernel as a whole, files that it kept in memory included. */
  | 'CGROUP'
  /** Some were put together from the processes of a kernel: memory is what was seen resident while it ran, shared pages for each process, and CPU time leaves out what nobody waited for. They are not exact. */
  | 'PROCESSES';

/** Status of a delivery. */
export type WebhookDeliveryStatus =
  /** The endpoint answered with a status of 200 to 299. */
  | 'DELIVERED'
  /** All scheduled attempts failed, or the endpoint is gone. */
  | 'FAILED'
  /** It waits for its next attempt, or one is in progress. */
  | 'PENDING';
