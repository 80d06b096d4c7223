/** The action on many sessions to abort. */
export type AbortBulkActionInput = {
  /** Id of the action. */
  bulkActionId: string;
  /** Idempotency key chosen by the client, unique in the project: a repeated request with the same key changes nothing, and returns what the first one did. Kept for 14 days. */
  clientKey?: string | null | undefined;
  /** The reason, for people; recorded in the audit log. */
  reason?: string | null | undefined;
};

/** Members to add to an open group. */
export type AddSessionsInput = {
  /** Idempotency key chosen by the client, unique in the project: a repeated request with the same key changes nothing, and returns what the first one did. Kept for 14 days. */
  clientKey?: string | null | undefined;
  /** True: these are the last ones. */
  close?: boolean | null | undefined;
  /** Id of the group. */
  groupId: string;
  /** Indexes such as `1001-2000`. `sessions` has one for each, or one for all. Those that are taken are left out. */
  indexes?: string | null | undefined;
  /** The sessions, at most 1000. A `creationId` lets the call be repeated. */
  sessions?: Array<CreateSessionInput> | null | undefined;
};

/** All given conditions must match. */
export type AgentFilter = {
  /** Filter by name. */
  name?: StringFilter | null | undefined;
  /** In this resource group. */
  resourceGroup?: string | null | undefined;
  /** With one of these values. */
  status?: Array<AgentStatus> | null | undefined;
};

/** How one of the agents with enough free capacity is chosen. */
export type AgentSelector =
  /** The agent that would be fullest with the session. */
  | 'CONCENTRATED'
  /** The agent that would be emptiest with the session. */
  | 'DISPERSED'
  /** Each agent in turn. */
  | 'ROUND_ROBIN';

/** The state of an agent. */
export type AgentStatus =
  /** It responds and accepts work. */
  | 'ALIVE'
  /** It finishes its kernels and accepts no new work. */
  | 'DRAINING'
  /** It has been silent for so long that the server has given up its kernels. */
  | 'LOST'
  /** It has been silent for a while and gets no new work. */
  | 'SUSPECT'
  /** Gone for good. */
  | 'TERMINATED';

/** Groups of Airflow releases that compute delays in the same way. */
export type AirflowRelease =
  /** Up to 2.5.3: delays have no limit of 24 hours. */
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
  /** The release whose formula is used; 3.2 if not given. */
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

/** Advice to apply. */
export type ApplyRetryAdviceInput = {
  /** Id of the advice. */
  adviceId: string;
  /** Idempotency key chosen by the client, unique in the project: a repeated request with the same key changes nothing, and returns what the first one did. Kept for 14 days. */
  clientKey?: string | null | undefined;
  /** The reason, for people; recorded in the audit log. */
  reason?: string | null | undefined;
};

/** Filter of audit log entries. All given conditions must match. */
export type AuditFilter = {
  /** One of these actions. */
  action?: Array<string> | null | undefined;
  /** Actions that contain this text, in upper or lower case. */
  actionContains?: string | null | undefined;
  /** Actions of the actor with this name. */
  actor?: string | null | undefined;
  /** Actions of actors whose name contains this text, in upper or lower case. */
  actorContains?: string | null | undefined;
  /** Filter by time. */
  at?: DateTimeFilter | null | undefined;
  /** True: only actions of the server itself, such as retries; false: only actions that a token requested. */
  automatic?: boolean | null | undefined;
  /** About the project with this name. */
  project?: string | null | undefined;
  /** True: only refused actions; false: only actions that were done. */
  refused?: boolean | null | undefined;
  /** Actions of the request with this id. */
  requestId?: string | null | undefined;
  /** About this session. */
  sessionId?: string | null | undefined;
  /** Actions of this token. */
  tokenId?: string | null | undefined;
  /** Actions of the tokens of this user. */
  userId?: string | null | undefined;
};

/** What the fields of a policy are laid over. */
export type BacktestBase =
  /** The project's defaults, as for a new session. */
  | 'DEFAULTS'
  /** The policy that each chain really had. Given rules come before its own, all other fields replace its own. */
  | 'OWN_POLICY';

/** Why it is unknown what would have become of a chain. */
export type BacktestUnknownReason =
  /** It would have had more retries, and too few recorded ones are comparable. */
  | 'NO_COMPARABLE'
  /** A retry would have had other resources or another timeout, and these decide. */
  | 'OTHER_SIZE'
  /** A retry would have come when it is not known whether the outage was over. */
  | 'OTHER_TIME'
  /** It has too many attempts. */
  | 'TOO_LONG';

/** All given conditions must match. */
export type BulkActionFilter = {
  /** One of these actions. */
  action?: Array<SessionAction> | null | undefined;
  /** Filter by the time of the request. */
  createdAt?: DateTimeFilter | null | undefined;
  /** The beginning of the id: at least its first 8 hexadecimal digits. */
  idPrefix?: string | null | undefined;
  /** In one of these states. */
  state?: Array<BulkActionState> | null | undefined;
};

/** Outcome of an action for one session. */
export type BulkActionItemStatus =
  /** Done; a session that was resubmitted has a child. */
  | 'DONE'
  /** Not done yet; never done if the action was aborted. */
  | 'PENDING'
  /** Refused; `code` and `message` give the reason. */
  | 'REFUSED';

/** State of an action on many sessions. */
export type BulkActionState =
  /** A person aborted it; results from before stay. */
  | 'ABORTED'
  /** Each session is done or refused. */
  | 'COMPLETED'
  /** Not finished; the server continues it in the background. */
  | 'RUNNING';

/** The sessions whose retries are cancelled. */
export type CancelRetriesInput = {
  /**
   * Selects the newest sessions of the chains that match now. The rules of `filter` apply.
   * @deprecated Use `select`, of which exactly one field is given.
   */
  chainFilter?: ChainFilter | null | undefined;
  /** Idempotency key chosen by the client, unique in the project: the same key returns the record of the first call. */
  clientKey?: string | null | undefined;
  /** True: nothing is done or recorded; the answer has the number of sessions that would be changed. */
  dryRun?: boolean | null | undefined;
  /**
   * Selects the sessions that match now, at most 100000. Sessions that match later are not included. An empty filter is refused.
   * @deprecated Use `select`, of which exactly one field is given.
   */
  filter?: SessionFilter | null | undefined;
  /** The reason, for people; recorded in the audit log. */
  reason?: string | null | undefined;
  /** Which sessions. */
  select?: SessionSelection | null | undefined;
  /**
   * Ids of the sessions; at most 100000.
   * @deprecated Use `select`, of which exactly one field is given.
   */
  sessionIds?: Array<string> | null | undefined;
};

/** The retry to cancel. */
export type CancelRetryInput = {
  /** Idempotency key chosen by the client, unique in the project: a repeated request with the same key changes nothing, and returns what the first one did. Kept for 14 days. */
  clientKey?: string | null | undefined;
  /** The reason, for people; recorded in the audit log. */
  reason?: string | null | undefined;
  /** Id of any session of the chain. */
  sessionId: string;
};

/** The group to cancel. */
export type CancelSessionGroupInput = {
  /** Idempotency key chosen by the client, unique in the project: a repeated request with the same key changes nothing, and returns what the first one did. Kept for 14 days. */
  clientKey?: string | null | undefined;
  /** Id of the group. */
  groupId: string;
  /** The reason, for people; recorded in the audit log. */
  reason?: string | null | undefined;
};

/** All given conditions must match. */
export type ChainFilter = {
  /** Filter by `newestActivityAt`. */
  activityAt?: DateTimeFilter | null | undefined;
  /** With a kernel that is or was on the agent with this id. */
  agent?: string | null | undefined;
  /** Filter by the number of attempts. */
  attempts?: IntRange | null | undefined;
  /** Latest failure has one of these causes. */
  cause?: Array<FailureCause> | null | undefined;
  /** Filter by the creation time of the first attempt. */
  createdAt?: DateTimeFilter | null | undefined;
  /** Filter by the due time of its scheduled or held retry. */
  dueAt?: DateTimeFilter | null | undefined;
  /** Newest attempt ended with one of these exit codes. */
  exitCode?: Array<number> | null | undefined;
  /** With any attempt that failed as described, also if later attempts followed. */
  failed?: FailureFilter | null | undefined;
  /** Members of the group with this id. */
  group?: string | null | undefined;
  /** Retry is held for one of these reasons. */
  holdReason?: Array<HoldReason> | null | undefined;
  /** With one of these `chainId`s, at most 200. */
  ids?: Array<string> | null | undefined;
  /** With this label. `labels` takes several, and other conditions. */
  label?: LabelInput | null | undefined;
  /** Filter by labels. All must match. */
  labels?: Array<LabelFilter> | null | undefined;
  /** Filter by name. */
  name?: StringFilter | null | undefined;
  /** In the project of this name. */
  project?: string | null | undefined;
  /** Newest attempt is in the resource group of this name. */
  resourceGroup?: string | null | undefined;
  /** Beginnings of words in the name and the labels. All must occur, in any order. Case is ignored. A word is a sequence of letters and digits. */
  search?: string | null | undefined;
  /** Of one of these types. `[BATCH, INTERACTIVE]` leaves out the replicas of deployments. */
  sessionType?: Array<SessionType> | null | undefined;
  /** In one of these states. */
  state?: Array<ChainState> | null | undefined;
  /** Whether the newest attempt was ended by its batch timeout. */
  timedOut?: boolean | null | undefined;
  /** Newest attempt belongs to the user of this name. */
  user?: string | null | undefined;
};

/** Order of chains. */
export type ChainOrder = {
  /** Direction. */
  direction?: OrderDirection | null | undefined;
  /** Field to order by. */
  field: ChainOrderField;
};

/** Fields that chains can be ordered by. */
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
  /** Time from its creation to its end. For a live chain, up to the moment when the first page was read. */
  | 'TOTAL_TIME';

/** What happened in a segment of a chain's time. */
export type ChainSegmentKind =
  /** A failed attempt had ended, and its retry had not started or been given up yet. */
  | 'BACKOFF'
  /** Its kernels were being stopped. */
  | 'ENDING'
  /** A retry that was due was held: see `holdReason`. */
  | 'HELD'
  /** The retry to come. It is not a part of the time so far. */
  | 'PLANNED'
  /** Its kernels were being prepared and started. */
  | 'PREPARING'
  /** An attempt waited to be placed on an agent. */
  | 'QUEUED'
  /** The chain had ended; a person resubmitted it. */
  | 'RESUBMISSION_GAP'
  /** Its program ran. */
  | 'RUNNING';

/** State of a chain. SUCCEEDED, FAILED and CANCELLED are final unless it is resubmitted. */
export type ChainState =
  /** A person terminated its newest attempt before it produced a result. */
  | 'CANCELLED'
  /** Its newest attempt failed, and no retry follows. */
  | 'FAILED'
  /** Its newest attempt failed; a retry is due but held. */
  | 'HELD'
  /** Its newest attempt waits in vain: no agent that is known, and no quota as it is set, could ever take it. */
  | 'IMPOSSIBLE'
  /** In filters: QUEUED, IMPOSSIBLE and RUNNING together. No chain has this state. */
  | 'LIVE'
  /** Its newest attempt waits to be placed on an agent. */
  | 'QUEUED'
  /** Its newest attempt is on an agent (being prepared, running or ending), or has ended and awaits the decision whether to retry. */
  | 'RUNNING'
  /** Its newest attempt succeeded. */
  | 'SUCCEEDED'
  /** Its newest attempt failed; a retry is waiting for its delay to pass. */
  | 'WAITING_RETRY';

/** All given conditions must match. */
export type ChangeFilter = {
  /** In these chains, at most 200: only changes of these chains and their sessions. */
  chainIds?: Array<string> | null | undefined;
  /** In the project of this name. Agents are always included. */
  project?: string | null | undefined;
};

/** State of the checkpoint of earlier attempts when a session started. */
export type CheckpointState =
  /** It was copied there from elsewhere. */
  | 'FETCHED'
  /** It was in the session's directory. */
  | 'HERE'
  /** There was one, but it was not available. */
  | 'MISSING'
  /** There was no checkpoint. */
  | 'NONE';

/** Whether a retry runs where the checkpoint of earlier attempts is. */
export type CheckpointWish =
  /** It runs anywhere. */
  | 'IGNORE'
  /** It runs there if an agent with the checkpoint fits, otherwise elsewhere without the checkpoint. */
  | 'PREFER'
  /** It runs only there until `checkpointWait` has passed; then as with PREFER. */
  | 'REQUIRE';

/** How the kernels of a session are distributed over agents. */
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
  /** GPUs of each route, by model or memory. */
  gpus?: GpusInput | null | undefined;
  /** The health check of its routes. */
  healthCheck?: HealthCheckInput | null | undefined;
  /** Container image of its program; for agents without containers, a preset of environment and interpreter. */
  image?: string | null | undefined;
  /** Labels of your choice. */
  labels?: Array<LabelInput> | null | undefined;
  /** Maximum number of extra replicas during an update. Null: a quarter of the replicas, rounded up. */
  maxSurge?: number | null | undefined;
  /** Minimum number of healthy replicas during an update. Null: three quarters of the replicas, rounded up. */
  minHealthy?: number | null | undefined;
  /** Volumes that its routes mount. An agent of the resource group must have all of them for its project. */
  mounts?: Array<MountInput> | null | undefined;
  /** Lower-case letters, digits and -, unique in the project. */
  name: string;
  /** Name of the environment variable that holds the program's port. */
  portVariable?: string | null | undefined;
  /** Priority, 0 to 100; higher ones are scheduled first. */
  priority?: number | null | undefined;
  /** Name of the project. Missing: the only project of the token, or `default`. */
  project?: string | null | undefined;
  /** Desired number of healthy routes. */
  replicas?: number | null | undefined;
  /** Name of the resource group for its routes. */
  resourceGroup?: string | null | undefined;
  /** Resources of each route. */
  resourceSlots?: Array<ResourceSlotInput> | null | undefined;
  /** Secret variables: their values are stored encrypted, are given to kernels at their start, and cannot be read otherwise. */
  secretEnviron?: Array<EnvVarInput> | null | undefined;
  /** Time limit from the creation of a route to its first successful check, after which it has failed to start. */
  startTimeout?: number | null | undefined;
};

/** A group of projects. */
export type CreateDomainInput = {
  /** Its name, unique among domains. */
  name: string;
  /** The reason, for people; recorded in the audit log. */
  reason?: string | null | undefined;
};

/** The project to create. */
export type CreateProjectInput = {
  /** Name of its domain; `default` if missing. */
  domain?: string | null | undefined;
  /** Its name, unique among projects. */
  name: string;
  /** The reason, for people; recorded in the audit log. */
  reason?: string | null | undefined;
};

/** Missing fields have their defaults. */
export type CreateResourceGroupInput = {
  /** Keys of executor options that sessions may set themselves, even if the group sets them too. Replaces all of them. */
  allowedExecutorOptions?: Array<string> | null | undefined;
  /** Session types accepted by the group. Not empty. */
  allowedSessionTypes?: Array<SessionType> | null | undefined;
  /** Timeout in PREPARED and CREATING, in seconds; null means no timeout. */
  createTimeout?: number | null | undefined;
  /** Reason for draining it, for people. Waiting sessions show it. */
  drainReason?: string | null | undefined;
  /** True: no new session is scheduled in it; running kernels keep running. */
  draining?: boolean | null | undefined;
  /** Executor options of all sessions in the group. Replaces all of them; applies to kernels that are assigned later. */
  executorOptions?: Array<ExecutorOptionInput> | null | undefined;
  /** Seconds without a response after which an agent stops its kernels by itself, at least 10. An agent applies a change at its next registration. */
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
  /** The reason, for people; recorded in the audit log. */
  reason?: string | null | undefined;
  /** How an agent is selected. */
  selector?: AgentSelector | null | undefined;
  /** Order in which sessions are scheduled. */
  sequencer?: Sequencer | null | undefined;
  /** Grace period in seconds between asking a kernel to stop and killing it. */
  stopGrace?: number | null | undefined;
  /** Longest grace period that its sessions may ask for, in seconds. */
  stopGraceMax?: number | null | undefined;
  /** Timeout in TERMINATING, in seconds; more than `stopGrace`. */
  terminateTimeout?: number | null | undefined;
};

/** The schedule to create. Either `cron` or `every` must be given. */
export type CreateScheduleInput = {
  /** Number of missed runs to make after a downtime, 0 to 100; the latest ones are made. */
  catchUp?: number | null | undefined;
  /** Idempotency key chosen by the client, unique in the project. */
  creationId?: string | null | undefined;
  /** A cron expression of five fields, such as `30 2 * * 1-5`, or a name like `@daily`. For local times that daylight saving skips or repeats, see docs/schedules.md. */
  cron?: string | null | undefined;
  /** Seconds between two runs, at least 1; instead of `cron`. */
  every?: number | null | undefined;
  /** Delays each run by up to this number of seconds after its planned time, at most 3600. */
  jitter?: number | null | undefined;
  /** Its name, unique in its project. */
  name: string;
  /** What happens to a run that is due while an earlier one is still active. */
  overlap?: ScheduleOverlap | null | undefined;
  /** True: creates it paused, so that it makes no runs until it is resumed. */
  paused?: boolean | null | undefined;
  /** Specification of the session to create. Its project is that of the schedule; `creationId`, `startsAt` and `dependsOn` are not allowed. */
  session: CreateSessionInput;
  /** Time zone of `cron`, like `Europe/Berlin`. */
  timeZone?: string | null | undefined;
};

/** A group of sessions. With a `key`, the same call returns the same group. */
export type CreateSessionGroupInput = {
  /** Groups to wait for, at most 16: no member begins before that. */
  dependsOn?: Array<SessionGroupDependencyInput> | null | undefined;
  /** Indexes such as `1-1000`, `0-99:10` or `1,3,5-7`, at most 10000 in one call. `sessions` has one for each, or one for all. */
  indexes?: string | null | undefined;
  /** Idempotency key chosen by the client, unique in the project. */
  key?: string | null | undefined;
  /** The group fails with this number of failed members. Missing: if any has failed at the end. */
  maxFailed?: number | null | undefined;
  /** The same as a percentage of its members. */
  maxFailedPercent?: number | null | undefined;
  /** At most this number of members run at the same time. */
  maxRunning?: number | null | undefined;
  /** The group succeeds with this number of members that succeeded. */
  minSucceeded?: number | null | undefined;
  /** Its name. */
  name: string;
  /** What becomes of running members once it fails. */
  onFailure?: SessionGroupRest | null | undefined;
  /** True: `addSessions` adds further members. */
  open?: boolean | null | undefined;
};

/** The session to create. */
export type CreateSessionInput = {
  /** An agent must have all of these labels to run it. */
  agentLabels?: Array<LabelInput> | null | undefined;
  /** Ids of the only agents that may run it and its retries; an empty list means all. */
  allowAgents?: Array<string> | null | undefined;
  /** Ids of agents to avoid: used only if no other has free capacity. */
  avoidAgents?: Array<string> | null | undefined;
  /** Batch timeout: seconds that user code may run. */
  batchTimeout?: number | null | undefined;
  /** How its kernels are distributed over agents. */
  clusterMode?: ClusterMode | null | undefined;
  /** Number of kernels. */
  clusterSize?: number | null | undefined;
  /** SHA-256 of code that was uploaded for the project (`PUT /v2/code/{sha256}`). Its kernels find the files in their working directory. */
  codeSha256?: string | null | undefined;
  /** The program and its arguments: `["sh", "-c", "exit 3"]`. */
  command: Array<string>;
  /** Only `concurrencyLimit` sessions of its project with this key are placed at the same time. */
  concurrencyKey?: string | null | undefined;
  /** Limit for its `concurrencyKey`, 1 to 1000; 1 if missing. */
  concurrencyLimit?: number | null | undefined;
  /** Idempotency key chosen by the client, unique in the project. The endings `:retry:<number>` and `:resubmission:<number>` are reserved. */
  creationId?: string | null | undefined;
  /** Ids of sessions whose chains must succeed before it starts. */
  dependsOn?: Array<string> | null | undefined;
  /** Environment of its kernels, in addition to the variables set by Reprise. */
  environ?: Array<EnvVarInput> | null | undefined;
  /** Ids of agents that must not run it or its retries: it waits if no other agent is left. */
  excludeAgents?: Array<string> | null | undefined;
  /** Executor options in addition to those of the resource group, such as the `partition` of a Slurm cluster. Only keys in the group's `allowedExecutorOptions` are allowed. Retries and resubmissions keep them. */
  executorOptions?: Array<ExecutorOptionInput> | null | undefined;
  /** Seconds after which an attempt fails (`gpu-idle`) if all GPUs of one of its kernels were below 1 % of use meanwhile. Default: no limit. */
  gpuIdleTimeout?: number | null | undefined;
  /** GPUs of each kernel, by number, model and memory. It waits for an agent that has such GPUs. Retries and resubmissions keep model and memory. */
  gpus?: GpusInput | null | undefined;
  /** Container image of its kernels; for agents without containers, a preset of environment and interpreter. */
  image?: string | null | undefined;
  /** Outputs of other sessions that its programs find in their working directory. It starts once the chains of these sessions have succeeded. */
  inputs?: Array<InputFilesInput> | null | undefined;
  /** Labels of your choice. */
  labels?: Array<LabelInput> | null | undefined;
  /** Seconds that each attempt may wait in PENDING. After that it has failed with SCHEDULER_TIMEOUT (`waited-too-long`). Time before `startsAt`, and before its dependencies have succeeded, does not count. */
  maxPending?: number | null | undefined;
  /** Volumes that its kernels mount. It runs on agents that have all of them for its project. Retries and resubmissions keep them. */
  mounts?: Array<MountInput> | null | undefined;
  /** Its name; not necessarily unique. */
  name: string;
  /** True: once its start was ordered, nothing starts it again: there is no retry, and no other agent gets it, even if its agent is lost before it reports the start. */
  neverRunTwice?: boolean | null | undefined;
  /** Program and arguments that run in a kernel without progress before it is stopped, for at most 60 s. The log gets their output. */
  onHang?: Array<string> | null | undefined;
  /** Files to collect from its working directory at the end of each attempt, in addition to everything in `REPRISE_OUTPUT_DIR`. */
  outputs?: OutputsInput | null | undefined;
  /** Priority, 0 to 100; higher ones are scheduled first. */
  priority?: number | null | undefined;
  /** Seconds without progress after which an attempt has failed (HUNG, `no-progress`), at least 1. Progress is output, a write to `REPRISE_PROGRESS_FILE`, or a published checkpoint. Short for `progressTimeout` in `retryPolicy`, and stronger. Default: that of the policy, or no limit. */
  progressTimeout?: number | null | undefined;
  /** Name of the project. Missing: the only project of the token, or `default`. */
  project?: string | null | undefined;
  /** Name of the resource group to run in. */
  resourceGroup?: string | null | undefined;
  /** Resources of each kernel. */
  resourceSlots?: Array<ResourceSlotInput> | null | undefined;
  /** Its retry policy. */
  retryPolicy?: RetryPolicyInput | null | undefined;
  /** Secret variables: their values are stored encrypted, are given to kernels at their start, and cannot be read otherwise. */
  secretEnviron?: Array<EnvVarInput> | null | undefined;
  /** Its type. */
  sessionType?: SessionType | null | undefined;
  /** Earliest start time. */
  startsAt?: string | null | undefined;
  /** Grace period in seconds between asking its processes to stop and killing them; at most `stopGraceMax` of its resource group. Default: that of the resource group. */
  stopGrace?: number | null | undefined;
};

/** Sessions to create. */
export type CreateSessionsInput = {
  /** They become the members of this group: all of them are created, or none. */
  group?: CreateSessionGroupInput | null | undefined;
  /** The sessions, at most 1000. */
  sessions: Array<CreateSessionInput>;
};

/** A token to create. */
export type CreateTokenInput = {
  /** When it expires; never if missing. */
  expiresAt?: string | null | undefined;
  /** A name for people, such as its purpose. */
  name: string;
  /** Name of the only project that it can access. Required for MEMBER and VIEWER, refused for AGENT, optional for ADMIN and METRICS. */
  project?: string | null | undefined;
  /** The reason, for people; recorded in the audit log. */
  reason?: string | null | undefined;
  /** For role AGENT: names of the only resource groups that its agents may join; any group if missing. */
  resourceGroups?: Array<string> | null | undefined;
  /** Its role. */
  role: TokenRole;
  /** Name of its user. If the token has a project, the user must be a member of the project with at least the rights of the token's role. */
  user?: string | null | undefined;
};

/** A user, who creates sessions. */
export type CreateUserInput = {
  /** Its name, unique among users. */
  name: string;
  /** The reason, for people; recorded in the audit log. */
  reason?: string | null | undefined;
};

/** A webhook: an endpoint, and the events to send to it. */
export type CreateWebhookInput = {
  /** Only events of this chain. */
  chainId?: string | null | undefined;
  /** Description, for people. */
  description?: string | null | undefined;
  /** Event names such as `session.retry_exhausted`. A `*` at the end matches any ending: `session.retry_*`, `deployment.*`. */
  eventTypes: Array<string>;
  /** Only events of sessions and deployments that have all of these labels. */
  labels?: Array<LabelInput> | null | undefined;
  /** Name of the project whose events are sent. By default the token's project, or all projects if the token has none. */
  project?: string | null | undefined;
  /** The reason, for people; recorded in the audit log. */
  reason?: string | null | undefined;
  /** True: no events of sessions whose chain is a member of a group, only `group.ended` for all of them. */
  skipGroupMembers?: boolean | null | undefined;
  /** URL of the endpoint: http:// or https://, with port 80, 443 or one above 1023. Deliveries to private addresses are refused. */
  url: string;
};

/** All given conditions must match. */
export type DateTimeFilter = {
  /** Later than this time. */
  gt?: string | null | undefined;
  /** At or after this time. */
  gte?: string | null | undefined;
  /** Before this time. */
  lt?: string | null | undefined;
  /** At or before this time. */
  lte?: string | null | undefined;
};

/** The group to delete. */
export type DeleteResourceGroupInput = {
  /** Its name. */
  name: string;
  /** The reason, for people; recorded in the audit log. */
  reason?: string | null | undefined;
};

/** The schedule to delete. */
export type DeleteScheduleInput = {
  /** The reason, for people; recorded in the audit log. */
  reason?: string | null | undefined;
  /** Id of the schedule. */
  scheduleId: string;
};

/** A user to delete. */
export type DeleteUserInput = {
  /** Name of the user. */
  name: string;
  /** The reason, for people; recorded in the audit log. */
  reason?: string | null | undefined;
};

/** The webhook to delete. */
export type DeleteWebhookInput = {
  /** The reason, for people; recorded in the audit log. */
  reason?: string | null | undefined;
  /** Id of the webhook. */
  webhookId: string;
};

/** All given conditions must match. */
export type DeploymentEventFilter = {
  /** About this deployment and its routes. */
  deploymentId?: string | null | undefined;
  /** Filter by labels of the deployment. All must match. */
  labels?: Array<LabelFilter> | null | undefined;
  /** In the project of this name. */
  project?: string | null | undefined;
  /** With one of these values. */
  types?: Array<DeploymentEventType> | null | undefined;
};

/** Type of a deployment event: the event's name in upper case, without `deployment.`, and with `_` in place of the dot of `route.`. */
export type DeploymentEventType =
  /** It was created. */
  | 'CREATED'
  /** It was destroyed. */
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
  /** Filter by creation time. */
  createdAt?: DateTimeFilter | null | undefined;
  /** The beginning of the id: at least its first 8 hexadecimal digits. */
  idPrefix?: string | null | undefined;
  /** Filter by labels. All must match. */
  labels?: Array<LabelFilter> | null | undefined;
  /** Filter by name. */
  name?: StringFilter | null | undefined;
  /** In the project of this name. */
  project?: string | null | undefined;
  /** In one of these statuses. */
  status?: Array<DeploymentStatus> | null | undefined;
};

/** Order of deployments. */
export type DeploymentOrder = {
  /** Direction. */
  direction?: OrderDirection | null | undefined;
  /** Field to order by. */
  field: DeploymentOrderField;
};

/** Fields that deployments can be ordered by. */
export type DeploymentOrderField =
  /** When it was created. */
  | 'CREATED_AT'
  /** Its name, compared byte by byte. */
  | 'NAME'
  /** When it entered its status. */
  | 'STATUS_CHANGED_AT';

/** Status of a deployment. DESTROYED is final. */
export type DeploymentStatus =
  /** Same as PENDING; the server does not set it. */
  | 'CREATED'
  /** Same as SCALING; the server does not set it. */
  | 'DEPLOYING'
  /** It has been destroyed with all its routes. */
  | 'DESTROYED'
  /** Its routes are being terminated. */
  | 'DESTROYING'
  /** Just created. */
  | 'PENDING'
  /** It has the desired number of healthy routes of its revision, and no others. */
  | 'READY'
  /** It is moving towards its desired replicas and revision; `statusReason` names what it waits for. */
  | 'SCALING';

/** The deployment to destroy. */
export type DestroyDeploymentInput = {
  /** Idempotency key chosen by the client, unique in the project: a repeated request with the same key changes nothing, and returns what the first one did. Kept for 14 days. */
  clientKey?: string | null | undefined;
  /** Id of the deployment. */
  deploymentId: string;
  /** The reason, for people. */
  reason?: string | null | undefined;
};

/** Advice to dismiss. */
export type DismissRetryAdviceInput = {
  /** Id of the advice. */
  adviceId: string;
  /** Idempotency key chosen by the client, unique in the project: a repeated request with the same key changes nothing, and returns what the first one did. Kept for 14 days. */
  clientKey?: string | null | undefined;
  /** False opens it again; true if missing. */
  dismissed?: boolean | null | undefined;
  /** The reason, for people; recorded in the audit log. */
  reason?: string | null | undefined;
};

/** The agent to change. */
export type DrainAgentInput = {
  /** Its id. */
  agentId: string;
  /** Idempotency key chosen by the client, unique in the project: a repeated request with the same key changes nothing, and returns what the first one did. Kept for 14 days. */
  clientKey?: string | null | undefined;
  /** The reason, for people. */
  reason?: string | null | undefined;
};

/** Status of a session, a kernel, an agent, a deployment or a route. Each has an enum of its own. */
export type EntityStatus =
  /** A status of agents. */
  | 'ALIVE'
  /** A status of sessions, kernels. */
  | 'CANCELLED'
  /** A status of deployments. */
  | 'CREATED'
  /** A status of sessions, kernels. */
  | 'CREATING'
  /** A status of routes. */
  | 'DEGRADED'
  /** A status of deployments. */
  | 'DEPLOYING'
  /** A status of deployments. */
  | 'DESTROYED'
  /** A status of deployments. */
  | 'DESTROYING'
  /** A status of agents. */
  | 'DRAINING'
  /** A status of sessions, kernels. */
  | 'ERROR'
  /** A status of routes. */
  | 'FAILED_TO_START'
  /** A status of routes. */
  | 'HEALTHY'
  /** A status of agents. */
  | 'LOST'
  /** A status of sessions, kernels, deployments. */
  | 'PENDING'
  /** A status of sessions, kernels. */
  | 'PREPARED'
  /** A status of sessions, kernels. */
  | 'PREPARING'
  /** A status of routes. */
  | 'PROVISIONING'
  /** A status of sessions, kernels. */
  | 'PULLING'
  /** A status of deployments. */
  | 'READY'
  /** A status of sessions, kernels. */
  | 'RUNNING'
  /** A status of deployments. */
  | 'SCALING'
  /** A status of sessions, kernels. */
  | 'SCHEDULED'
  /** A status of agents. */
  | 'SUSPECT'
  /** A status of sessions, kernels, agents, routes. */
  | 'TERMINATED'
  /** A status of sessions, kernels, routes. */
  | 'TERMINATING'
  /** A status of routes. */
  | 'UNHEALTHY';

/** One variable of the environment. */
export type EnvVarInput = {
  /** Its name. */
  name: string;
  /** Its value. */
  value: string;
};

/** Error codes, for programs. Errors that are not part of the data have the same codes in `extensions.code`; there, INTERNAL means a fault of the server. */
export type ErrorCode =
  /** No such advice, or it is not yours. */
  | 'ADVICE_NOT_FOUND'
  /** The agent accepts work or still has kernels. Drain it and wait. */
  | 'AGENT_IN_USE'
  /** No such agent. */
  | 'AGENT_NOT_FOUND'
  /** Another process has registered as this agent. This one stops. */
  | 'AGENT_SUPERSEDED'
  /** The server does not know this agent, which then registers again. */
  | 'AGENT_UNKNOWN'
  /** The stored data of its chain is damaged. */
  | 'CHAIN_UNREADABLE'
  /** The connection to the agent broke, or was silent for too long. */
  | 'CHANNEL_LOST'
  /** The agent did not connect to the server that waits for it, or could not start the command; the message tells which. */
  | 'CHANNEL_NOT_OPENED'
  /** The session's agent cannot do this; the message has the reason. */
  | 'CHANNEL_UNSUPPORTED'
  /** The client key belongs to an action on many sessions with different input. */
  | 'CLIENT_KEY_REUSED'
  /** The project has no uploaded code with this SHA-256. */
  | 'CODE_NOT_FOUND'
  /** The creation id belongs to a session, schedule or deployment that was created with another input. */
  | 'CREATION_ID_REUSED'
  /** Events after the cursor have been deleted, or before a subscription had read them, and the message has the cursor of the oldest event kept; or the database was replaced by a copy from before the cursor. */
  | 'CURSOR_EXPIRED'
  /** The database is unreachable. If the response was cut off, the request may have been carried out: repeat it with the same key. */
  | 'DATABASE_UNAVAILABLE'
  /** The session should be resubmitted as a dependent, but also depends on a chain that has failed and is not resubmitted. */
  | 'DEPENDENCY_FAILED'
  /** `dependsOn` names a session that does not exist, or is not yours. */
  | 'DEPENDENCY_NOT_FOUND'
  /** The deployment is being destroyed or has been destroyed, and cannot be changed. */
  | 'DEPLOYMENT_DESTROYED'
  /** No such deployment, or it is not yours. */
  | 'DEPLOYMENT_NOT_FOUND'
  /** The server executes trusted documents only, and this is not one of them. */
  | 'DOCUMENT_NOT_TRUSTED'
  /** No such domain. */
  | 'DOMAIN_NOT_FOUND'
  /** No such group of failures, or it is not yours. */
  | 'FAILURE_GROUP_NOT_FOUND'
  /** The token's role does not allow it. */
  | 'FORBIDDEN'
  /** The agent has no such GPU that is out of service, or for `takeGpu`, in service. */
  | 'GPU_NOT_FOUND'
  /** The group takes no more members, or has ended. Create another one. */
  | 'GROUP_CLOSED'
  /** No such group of sessions, or it is not yours. */
  | 'GROUP_NOT_FOUND'
  /** An agent runs kernels without isolation, so other people may not get access; the message names it. */
  | 'ISOLATION_REQUIRED'
  /** No such kernel, or it is not yours. */
  | 'KERNEL_NOT_FOUND'
  /** The body is not JSON in UTF-8. */
  | 'MALFORMED_REQUEST'
  /** The header `Allow` lists the methods that are allowed. */
  | 'METHOD_NOT_ALLOWED'
  /** Another object of this kind already has the name. */
  | 'NAME_TAKEN'
  /** No retry is scheduled or held: it was dispatched, cancelled, or never planned. */
  | 'NO_PENDING_RETRY'
  /** There is nothing at this path. */
  | 'NO_SUCH_PATH'
  /** The files stay where their program left them: the servers have only the list. `place` says where. */
  | 'OUTPUTS_IN_PLACE'
  /** The session has no outputs, or no such file in them that you may see. */
  | 'OUTPUTS_NOT_FOUND'
  /** No program of the kernel listens on the port. */
  | 'PORT_NOT_SERVED'
  /** No such project, or it is not yours. */
  | 'PROJECT_NOT_FOUND'
  /** A limit on how many may exist at once is reached. Try again when some have ended. */
  | 'QUOTA_EXCEEDED'
  /** The body arrived too slowly, or the query took the database longer than 5 s. */
  | 'REQUEST_TIMEOUT'
  /** The request has more bytes, values, keys or levels than the server accepts. */
  | 'REQUEST_TOO_LARGE'
  /** The group has agents, deployments or unfinished sessions. */
  | 'RESOURCE_GROUP_IN_USE'
  /** No such resource group. */
  | 'RESOURCE_GROUP_NOT_FOUND'
  /** The action on many sessions has already ended. */
  | 'RESUBMISSION_FINISHED'
  /** No such action on many sessions, or it is not yours. */
  | 'RESUBMISSION_NOT_FOUND'
  /** No such schedule, or it is not yours. */
  | 'SCHEDULE_NOT_FOUND'
  /** The server or its database cannot write, because a disk is full; the server's log names it. Try again once there is space. If the database itself stopped for lack of space, the request may have been carried out, as after `DATABASE_UNAVAILABLE`. */
  | 'SERVER_DISK_FULL'
  /** The server is listening but still migrating or starting. Nothing was done. */
  | 'SERVER_STARTING'
  /** The server is shutting down. Try another one, or try again later. */
  | 'SERVER_STOPPING'
  /** Nothing of the session's chain is live: its newest attempt has ended, and no retry waits. */
  | 'SESSION_ALREADY_FINISHED'
  /** The session has already been retried or resubmitted; the message and `childSession` name the child. */
  | 'SESSION_HAS_CHILD'
  /** The session may still be running on a silent agent; the message has the time until it is certainly gone. */
  | 'SESSION_MAY_BE_ALIVE'
  /** The session occurs earlier in the list. */
  | 'SESSION_NAMED_TWICE'
  /** Only batch sessions have attempts. */
  | 'SESSION_NOT_BATCH'
  /** The session has not ended: terminate it, or wait. */
  | 'SESSION_NOT_FINISHED'
  /** No such session, or it is not yours. */
  | 'SESSION_NOT_FOUND'
  /** Only a running session can be entered; the message has its status. */
  | 'SESSION_NOT_RUNNING'
  /** The session succeeded; `includeSucceeded` would run it again. */
  | 'SESSION_SUCCEEDED'
  /** The bucket of `REPRISE_BLOB_URL` does not respond. Nothing is lost: try again, an upload continues where it was. */
  | 'STORAGE_UNAVAILABLE'
  /** No such token, or it is not yours. */
  | 'TOKEN_NOT_FOUND'
  /** The session or the server has reached its limit of open channels. Close some first. */
  | 'TOO_MANY_CHANNELS'
  /** The token has too many requests in progress or per second, its WebSocket too many operations, or the address sent too many unknown tokens with the same beginning; or the server had reached its limit of open files at an upload. `Retry-After` has the time to wait. */
  | 'TOO_MANY_REQUESTS'
  /** The connection or the token has reached its limit of open subscriptions. Close some first. */
  | 'TOO_MANY_SUBSCRIPTIONS'
  /** There is no token, or it is not valid. */
  | 'UNAUTHENTICATED'
  /** The body must be `application/json`. */
  | 'UNSUPPORTED_MEDIA_TYPE'
  /** No such user, or it is not yours to see. */
  | 'USER_NOT_FOUND'
  /** The input is invalid; `issues` lists every problem with its path. Correct it and send it again. */
  | 'VALIDATION_FAILED'
  /** No such delivery, or it is not yours. */
  | 'WEBHOOK_DELIVERY_NOT_FOUND'
  /** The webhook is disabled. Enable it first. */
  | 'WEBHOOK_DISABLED'
  /** No such webhook, or it is not yours. */
  | 'WEBHOOK_NOT_FOUND';

/** An option for the executor, such as a Slurm partition. */
export type ExecutorOptionInput = {
  /** Its name: `partition`, `qos`, … */
  key: string;
  /** Its value: letters, digits and _ . , : & | * ( ) [ ] -. */
  value: string;
};

/** The cause of a session's failure, as classified by the server. */
export type FailureCause =
  /** Its agent was lost or restarted while it ran. */
  | 'AGENT_TRANSIENT'
  /** It made no progress for as long as its `progressTimeout`. Only sessions that have one can hang. */
  | 'HUNG'
  /** Its image could not be fetched. */
  | 'IMAGE_PULL_FAILURE'
  /** User code exited with a code other than 0, or ran into the batch timeout. */
  | 'KERNEL_NONZERO_EXIT'
  /** It used more memory than its slot allows, and was killed. */
  | 'OOM_KILLED'
  /** A quota did not allow it. Never retried. */
  | 'QUOTA_EXCEEDED'
  /** The scheduler could not start it in time. */
  | 'SCHEDULER_TIMEOUT'
  /** Any other cause. */
  | 'UNKNOWN'
  /** A person terminated it. Never retried. */
  | 'USER_CANCELLED'
  /** It cannot run as specified. Never retried. */
  | 'VALIDATION_ERROR';

/** An attempt that failed. All given conditions must match the same attempt. */
export type FailureFilter = {
  /** With a kernel on the agent with this id. */
  agent?: string | null | undefined;
  /** Filter by the time at which it ended. */
  at?: DateTimeFilter | null | undefined;
  /** With one of these causes. */
  cause?: Array<FailureCause> | null | undefined;
  /** With one of these exit codes. */
  exitCode?: Array<number> | null | undefined;
  /** Whether it was ended by its batch timeout. */
  timedOut?: boolean | null | undefined;
};

/** Order of groups of failures. */
export type FailureGroupOrder =
  /** Most failed attempts first. */
  | 'ATTEMPTS'
  /** Most chains first. */
  | 'CHAINS'
  /** Those that occurred last first. */
  | 'LATEST'
  /** Most CPU time lost first. */
  | 'LOST'
  /** Those that occurred for the first time last first. */
  | 'NEWEST';

/** What people know about a group of failures. */
export type FailureGroupState =
  /** It is known; its note and its link say more. */
  | 'KNOWN'
  /** It is not to be shown until `mutedUntil`. */
  | 'MUTED'
  /** Nothing yet. */
  | 'OPEN'
  /** Its reason is mended. Another failure opens it again: it has regressed. */
  | 'RESOLVED';

/** Property that failures are grouped by. */
export type FailureGrouping =
  /** Agents of the kernels. A session on several agents is counted for each. */
  | 'AGENT'
  /** Cause of the failure. */
  | 'CAUSE'
  /** Exit code. Failures without one are left out. */
  | 'EXIT_CODE'
  /** Labels of the session. A session with several labels is counted for each. */
  | 'LABEL'
  /** Name of the session. */
  | 'NAME';

/** A rule of a project: failures that say what it looks for are one group. */
export type FailureRuleInput = {
  /** The name of the group, up to 256 characters. */
  name: string;
  /** A pattern with `*` (any text) and `?` (any character) for a whole line, as it was written or masked; up to 100 characters. */
  pattern: string;
};

/** GPUs of each kernel. */
export type GpusInput = {
  /** Their number: the same as the slot `cuda.device`, and not together with a slot of GPUs. Default: that of the slots, or 1. */
  count?: number | null | undefined;
  /** Memory of each: `40g`, `40 GiB`. A GPU that is sold with 40 GB has it. */
  memory?: string | null | undefined;
  /** Part of the name of their model, in any case: `a100`. */
  model?: string | null | undefined;
};

/** Missing fields stay as they are. */
export type HealthCheckChange = {
  /** Number of consecutive successes that make it healthy. */
  healthyThreshold?: number | null | undefined;
  /** Seconds from the start of user code to the first check. */
  initialDelay?: number | null | undefined;
  /** Seconds between two checks, at least 0.1. */
  interval?: number | null | undefined;
  /** The path to request. */
  path?: string | null | undefined;
  /** Seconds for which the result of a check is valid. Null: three times the sum of interval and timeout. */
  staleAfter?: number | null | undefined;
  /** Timeout of a check in seconds, at least 0.05. */
  timeout?: number | null | undefined;
  /** Number of consecutive failures that make it unhealthy. */
  unhealthyThreshold?: number | null | undefined;
};

/** Health check of a route: an HTTP GET request, which succeeds with a status of 200 to 299. */
export type HealthCheckInput = {
  /** Number of consecutive successes that make it healthy. */
  healthyThreshold?: number | null | undefined;
  /** Seconds from the start of user code to the first check. */
  initialDelay?: number | null | undefined;
  /** Seconds between two checks, at least 0.1. */
  interval?: number | null | undefined;
  /** The path to request. */
  path?: string | null | undefined;
  /** Seconds for which the result of a check is valid. Null: three times the sum of interval and timeout. */
  staleAfter?: number | null | undefined;
  /** Timeout of a check in seconds, at least 0.05. */
  timeout?: number | null | undefined;
  /** Number of consecutive failures that make it unhealthy. */
  unhealthyThreshold?: number | null | undefined;
};

/** Why a due retry is held. */
export type HoldReason =
  /** Many chains fail in the same way: only single probes of them go. */
  | 'BREAKER'
  /** Retries are switched off here. */
  | 'DISABLED'
  /** The failed attempt may still run on a silent agent. */
  | 'PARENT_ALIVE'
  /** The limit of pending sessions is reached. */
  | 'QUOTA'
  /** The rate limit of retries is reached. */
  | 'RATE_LIMITED';

/** Outputs of another session to place in the working directory. */
export type InputFilesInput = {
  /** Id of a session of the same project. Its chain must succeed first. */
  from: string;
  /** Only files that match this pattern, in the syntax of `.gitignore`. */
  match?: string | null | undefined;
  /** A directory, relative to the working directory, to place them in; missing: that directory itself. */
  to?: string | null | undefined;
};

/** Property that attempts are grouped by. */
export type InsightGrouping =
  /** Agent of the kernel that decided how the session ended. */
  | 'AGENT'
  /** Cause of the failure: failed attempts only, like the ones below. */
  | 'CAUSE'
  /** Exit code of the failure. */
  | 'EXIT_CODE'
  /** Group of failures, by what they say. */
  | 'FAILURE_GROUP'
  /** Image. Sessions without one are left out. */
  | 'IMAGE'
  /** Value of the label `labelKey`. Sessions without it are left out. */
  | 'LABEL'
  /** Name of the session. */
  | 'NAME'
  /** Project. */
  | 'PROJECT'
  /** Resource group. */
  | 'RESOURCE_GROUP'
  /** Rule of the policy that decided about the failure. */
  | 'RULE'
  /** Group of sessions. Sessions without one are left out. */
  | 'SESSION_GROUP'
  /** User whose session it is. */
  | 'USER';

/** All given conditions must match. */
export type IntRange = {
  /** Greater than this number. */
  gt?: number | null | undefined;
  /** At least this number. */
  gte?: number | null | undefined;
  /** Less than this number. */
  lt?: number | null | undefined;
  /** At most this number. */
  lte?: number | null | undefined;
  /**
   * At most this.
   * @deprecated Use `lte`.
   */
  max?: number | null | undefined;
  /**
   * At least this.
   * @deprecated Use `gte`.
   */
  min?: number | null | undefined;
};

/** Role of a kernel in its session. */
export type KernelRole =
  /** The first kernel, whose end usually decides the result. */
  | 'main'
  /** Any other kernel. */
  | 'sub';

/** Status of a kernel, with the names of a session's statuses. A kernel may be further than its session, because the agent moves it first. */
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
  /** An agent was chosen for it. */
  | 'SCHEDULED'
  /** Ended: user code exited or was stopped. */
  | 'TERMINATED'
  /** It is being stopped. */
  | 'TERMINATING';

/** All given conditions must match. Without conditions, the label must exist. */
export type LabelFilter = {
  /** It has this value. */
  equals?: string | null | undefined;
  /** True: the label exists, with any value; false: it does not exist. */
  exists?: boolean | null | undefined;
  /** It has one of these values. */
  in?: Array<string> | null | undefined;
  /** Key of the label. */
  key: string;
};

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

/** A volume that kernels mount. */
export type MountInput = {
  /** Its path in the kernel: absolute, of letters, digits and _ . @ + -, and not within /work, /chain, /tmp, /proc, /sys, /dev or another mount. */
  path: string;
  /** True: read-only for kernels. */
  readOnly?: boolean | null | undefined;
  /** Name of the volume, as in `volumes`. */
  volume: string;
};

/** Direction of an order. */
export type OrderDirection =
  /** Smallest or oldest first. */
  | 'ASC'
  /** Largest or newest first. */
  | 'DESC';

/** Files to collect at the end of each attempt. */
export type OutputsInput = {
  /** Leave them on the agent's disk, and only list them: for disks that the users of the outputs share with the agent. */
  inPlace?: boolean | null | undefined;
  /** Days to keep them; missing: as the servers are configured (`REPRISE_KEEP_OUTPUTS`). */
  keepDays?: number | null | undefined;
  /** Patterns in the syntax of `.gitignore`, relative to the working directory: `results/**`, `metrics.json`. The last one that matches decides; `!` excludes. */
  paths: Array<string>;
  /** The attempts to collect them from. */
  when?: OutputsWhen | null | undefined;
};

/** State of the outputs of an attempt. WAITING and COLLECTING are followed by another one. */
export type OutputsState =
  /** Its agent sends the files. */
  | 'COLLECTING'
  /** All files have arrived, each verified by its hash. */
  | 'COMPLETE'
  /** The files have been removed because of their age. */
  | 'EXPIRED'
  /** The agent is gone, or no longer has the files. They may still arrive if it returns. */
  | 'LOST'
  /** There is no file to take; `reasons` says why. */
  | 'NONE'
  /** Some files could not be taken; `reasons` names them. */
  | 'PARTIAL'
  /** The attempt has not ended, or its agent has not begun. */
  | 'WAITING';

/** The attempts whose outputs are collected. */
export type OutputsWhen =
  /** Every attempt. */
  | 'ALWAYS'
  /** Only attempts that do not succeed. */
  | 'FAILURE'
  /** Only an attempt that succeeds. */
  | 'SUCCESS';

/** The schedule to pause. */
export type PauseScheduleInput = {
  /** Idempotency key chosen by the client, unique in the project: a repeated request with the same key changes nothing, and returns what the first one did. Kept for 14 days. */
  clientKey?: string | null | undefined;
  /** The reason, for people. */
  reason?: string | null | undefined;
  /** Id of the schedule. */
  scheduleId: string;
};

/** Kind of a quota's owner. */
export type QuotaScope =
  /** One domain: limits the sessions of all its projects. */
  | 'DOMAIN'
  /** One project: limits its sessions. */
  | 'PROJECT'
  /** One user: limits the sessions that the user created, with their retries. */
  | 'USER';

/** A rate limit, which works as a token bucket. */
export type RateLimitInput = {
  /** Size of a burst after a quiet period, 1 to 100000. */
  burst: number;
  /** Sustained rate per second, up to 100000. */
  perSecond: number;
};

/** The agent to change. */
export type RemoveAgentInput = {
  /** Its id. */
  agentId: string;
  /** Idempotency key chosen by the client, unique in the project: a repeated request with the same key changes nothing, and returns what the first one did. Kept for 14 days. */
  clientKey?: string | null | undefined;
  /** The reason, for people. */
  reason?: string | null | undefined;
};

/** The user and the project whose membership is removed. */
export type RemoveProjectMemberInput = {
  /** Name of the project. */
  project: string;
  /** The reason, for people; recorded in the audit log. */
  reason?: string | null | undefined;
  /** Name of the user. */
  user: string;
};

/** The delivery to repeat. */
export type ReplayDeliveryInput = {
  /** Idempotency key chosen by the client, unique in the project: a repeated request with the same key changes nothing, and returns what the first one did. Kept for 14 days. */
  clientKey?: string | null | undefined;
  /** Id of the delivery. */
  deliveryId: string;
  /** The reason, for people; recorded in the audit log. */
  reason?: string | null | undefined;
};

/** The events to send again. */
export type ReplayWebhookInput = {
  /** Idempotency key chosen by the client, unique in the project: a repeated request with the same key changes nothing, and returns what the first one did. Kept for 14 days. */
  clientKey?: string | null | undefined;
  /** The reason, for people; recorded in the audit log. */
  reason?: string | null | undefined;
  /** Send events since this time, at most 14 days ago. */
  since: string;
  /** Id of the webhook. */
  webhookId: string;
};

/** An amount of one resource, per kernel. */
export type ResourceSlotInput = {
  /** The amount, as a decimal: `0.5`, `2`. Bytes take k, m, g, t (binary): `2g`, `512 MiB`. */
  amount: string;
  /** The resource: `cpu`, `mem`, `cuda.device`, … */
  slot: string;
};

/** Differences between the new attempts and the failed sessions. They also apply to the automatic retries of the new epoch. */
export type ResubmissionOverrides = {
  /** Ids of the only agents to run on; replaces the existing list. An empty list removes the restriction. */
  allowAgents?: Array<string> | null | undefined;
  /** Ids of agents to avoid if another fits; replaces the list, including agents that retries have added. */
  avoidAgents?: Array<string> | null | undefined;
  /** Batch timeout in seconds; null removes it. */
  batchTimeout?: number | null | undefined;
  /** SHA-256 of code that was uploaded for their project. Replaces their code. */
  codeSha256?: string | null | undefined;
  /** Variables; other variables stay as they are. */
  environ?: Array<EnvVarInput> | null | undefined;
  /** Ids of agents that must not run it; replaces the list, including agents that retries have added. An empty list removes the restriction. */
  excludeAgents?: Array<string> | null | undefined;
  /** True: the new attempt begins with an empty directory, without the checkpoint of earlier attempts. */
  freshCheckpoint?: boolean | null | undefined;
  /** What its GPUs must be like. Missing fields stay as they are; null removes a condition on `model` or `memory`. Conditions on a session without GPUs ask for one. */
  gpus?: GpusInput | null | undefined;
  /** Priority, 0 to 100; higher ones are scheduled first. */
  priority?: number | null | undefined;
  /** Name of the resource group to run in. */
  resourceGroup?: string | null | undefined;
  /** Amounts of slots; other slots stay as they are. 0 removes a slot. */
  resourceSlots?: Array<ResourceSlotInput> | null | undefined;
  /** Fields of the retry policy; missing fields keep their values. */
  retryPolicy?: RetryPolicyInput | null | undefined;
  /** Secret variables; other variables stay as they are. A secret variable replaces a plain one of the same name, and the reverse. */
  secretEnviron?: Array<EnvVarInput> | null | undefined;
};

/** The group whose members get a new retry budget, and the changes. */
export type ResubmitSessionGroupInput = {
  /** Idempotency key: the same key with the same request returns the record of the first one. */
  clientKey?: string | null | undefined;
  /** Id of the group. */
  groupId: string;
  /** The changes. */
  overrides?: ResubmissionOverrides | null | undefined;
  /** The reason, for people; recorded in the audit log. */
  reason?: string | null | undefined;
  /** Members in these states; FAILED and CANCELLED unless given. */
  states?: Array<ResubmittedMemberState> | null | undefined;
};

/** The sessions that get a new retry budget, and the changes. */
export type ResubmitSessionsInput = {
  /**
   * Selects the newest sessions of the chains that match now. The rules of `filter` apply.
   * @deprecated Use `select`, of which exactly one field is given.
   */
  chainFilter?: ChainFilter | null | undefined;
  /** Idempotency key chosen by the client, unique in the project: the same key returns the record of the first call. */
  clientKey?: string | null | undefined;
  /** True: nothing is done or recorded; the answer has the number of sessions that would be changed. */
  dryRun?: boolean | null | undefined;
  /**
   * Selects the sessions that match now, at most 100000. Sessions that match later are not included. An empty filter is refused.
   * @deprecated Use `select`, of which exactly one field is given.
   */
  filter?: SessionFilter | null | undefined;
  /** True: sessions that were cancelled because one of these chains failed, directly or through others, are resubmitted as well, without overrides. Sessions that also depend on a failed chain that is not resubmitted are refused. */
  includeDependents?: boolean | null | undefined;
  /** True: sessions that succeeded run again as well. False: they are refused. */
  includeSucceeded?: boolean | null | undefined;
  /** The changes. */
  overrides?: ResubmissionOverrides | null | undefined;
  /** The reason, for people; recorded in the audit log. */
  reason?: string | null | undefined;
  /** Which sessions. */
  select?: SessionSelection | null | undefined;
  /**
   * Ids of the sessions; at most 100000.
   * @deprecated Use `select`, of which exactly one field is given.
   */
  sessionIds?: Array<string> | null | undefined;
};

/** A state in which members of a group can be resubmitted. */
export type ResubmittedMemberState =
  /** Cancelled. */
  | 'CANCELLED'
  /** Failed, with no retry left. */
  | 'FAILED'
  /** Succeeded. */
  | 'SUCCEEDED';

/** The agent to change. */
export type ResumeAgentInput = {
  /** Its id. */
  agentId: string;
  /** Idempotency key chosen by the client, unique in the project: a repeated request with the same key changes nothing, and returns what the first one did. Kept for 14 days. */
  clientKey?: string | null | undefined;
  /** The reason, for people. */
  reason?: string | null | undefined;
};

/** The schedule to resume. */
export type ResumeScheduleInput = {
  /** Idempotency key chosen by the client, unique in the project: a repeated request with the same key changes nothing, and returns what the first one did. Kept for 14 days. */
  clientKey?: string | null | undefined;
  /** The reason, for people; recorded in the audit log. */
  reason?: string | null | undefined;
  /** Id of the schedule. */
  scheduleId: string;
};

/** Kinds of advice. */
export type RetryAdviceKind =
  /** An agent fails what others finish. */
  | 'BAD_AGENT'
  /** A GPU fails what others finish. */
  | 'BAD_GPU'
  /** One failure hits many chains at once, and their retries, too. */
  | 'MANY_FAIL_AT_ONCE'
  /** Programs request far more memory than they use. */
  | 'MEMORY_TOO_HIGH'
  /** Programs run out of memory that succeed with more, or are retried without more. */
  | 'MEMORY_TOO_LOW'
  /** No retry after an exit code succeeds. */
  | 'NEVER_SUCCEEDS'
  /** Outages last longer than the retries of the chains that they hit. */
  | 'OUTAGE_TOO_LONG'
  /** No retry after some number of them succeeds. */
  | 'RETRIES_UNUSED'
  /** Programs run out of time that succeed with more, or are retried without more. */
  | 'TIMEOUT_TOO_LOW';

/** What people have done about advice. */
export type RetryAdviceState =
  /** The change was made. It opens again when its evidence has doubled. */
  | 'APPLIED'
  /** It is not wanted. It opens again when its evidence has doubled. */
  | 'DISMISSED'
  /** Nothing yet. */
  | 'OPEN';

/** Where a retry does not run if it can run elsewhere. */
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

/** When the retries of a group of failures are held by themselves, but for single probes. */
export type RetryBreakerSettingInput = {
  /** Least number of chains with such a failure within the window, 2 to 100000. */
  chains: number;
  /** Least number of its failures within the window, 2 to 100000. */
  failures: number;
  /** The window, in seconds, 60 to 86400. */
  window: number;
};

/** All given conditions must match. */
export type RetryDecisionFilter = {
  /** Failed for one of these causes. */
  cause?: Array<FailureCause> | null | undefined;
  /** In this chain. */
  chainId?: string | null | undefined;
  /** Filter by the time of the decision. */
  decidedAt?: DateTimeFilter | null | undefined;
  /** Filter by the time when the retry is due. */
  dueAt?: DateTimeFilter | null | undefined;
  /** Held for one of these reasons. */
  holdReason?: Array<HoldReason> | null | undefined;
  /** In one of these phases. */
  phase?: Array<RetryPhase> | null | undefined;
  /** In the project of this name. */
  project?: string | null | undefined;
  /** About this session. */
  sessionId?: string | null | undefined;
  /** Whether the session was ended by its batch timeout. */
  timedOut?: boolean | null | undefined;
};

/** All given conditions must match. */
export type RetryEventFilter = {
  /** In this chain. */
  chainId?: string | null | undefined;
  /** Filter by labels of the chain. All must match. */
  labels?: Array<LabelFilter> | null | undefined;
  /** In the project of this name. */
  project?: string | null | undefined;
  /** About this session. */
  sessionId?: string | null | undefined;
  /** With one of these values. */
  types?: Array<RetryEventType> | null | undefined;
};

/** Type of a retry event. */
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

/** Where a retry never runs: it waits instead. */
export type RetryExclusion =
  /** The agents on which the attempt failed. */
  | 'AGENT';

/** How the memory that each GPU must have grows from attempt to attempt. It never shrinks. */
export type RetryGpuMemoryGrowthInput = {
  /** Factor for each attempt. */
  factor: number;
  /** Maximum; bytes take k, m, g, t. */
  max?: string | null | undefined;
};

/** What grows when a slot grows. */
export type RetryGrowthStart =
  /** The most that a kernel of the attempt used of it. If that is unknown, or at least 95 % of the amount that the attempt had: this amount. Only the use of `mem` is measured. */
  | 'PEAK'
  /** The amount that the attempt had. */
  | 'REQUEST';

/** How delays are randomized, so that sessions that failed at the same time are not retried at the same time. */
export type RetryJitter =
  /** The whole delay is random, from `retryDelay` to three times the delay before; `backoff` has no effect. */
  | 'DECORRELATED'
  /** Jitter from a hash of the session: the same session always has the same delay. */
  | 'DETERMINISTIC'
  /** The whole delay is random, from 0 to what it would be without jitter. */
  | 'FULL'
  /** No jitter. */
  | 'NONE'
  /** Random jitter. */
  | 'RANDOM';

/** The retry to make due now. */
export type RetryNowInput = {
  /** Idempotency key chosen by the client, unique in the project: a repeated request with the same key changes nothing, and returns what the first one did. Kept for 14 days. */
  clientKey?: string | null | undefined;
  /** The reason, for people; recorded in the audit log. */
  reason?: string | null | undefined;
  /** Id of any session of the chain. */
  sessionId: string;
};

/** The sessions whose retries are made due now. */
export type RetryNowManyInput = {
  /**
   * Selects the newest sessions of the chains that match now. The rules of `filter` apply.
   * @deprecated Use `select`, of which exactly one field is given.
   */
  chainFilter?: ChainFilter | null | undefined;
  /** Idempotency key chosen by the client, unique in the project: the same key returns the record of the first call. */
  clientKey?: string | null | undefined;
  /** True: nothing is done or recorded; the answer has the number of sessions that would be changed. */
  dryRun?: boolean | null | undefined;
  /**
   * Selects the sessions that match now, at most 100000. Sessions that match later are not included. An empty filter is refused.
   * @deprecated Use `select`, of which exactly one field is given.
   */
  filter?: SessionFilter | null | undefined;
  /** The reason, for people; recorded in the audit log. */
  reason?: string | null | undefined;
  /** Which sessions. */
  select?: SessionSelection | null | undefined;
  /**
   * Ids of the sessions; at most 100000.
   * @deprecated Use `select`, of which exactly one field is given.
   */
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
  /** The session has not ended, or its retry has not been decided yet. */
  | 'UNDECIDED';

/** Name of a field of a retry policy. */
export type RetryPolicyField =
  /** How delays grow. */
  | 'backoff'
  /** Factor by which delays grow, if they do. */
  | 'backoffMultiplier'
  /** Whether a retry runs where the checkpoint of earlier attempts is. */
  | 'checkpoint'
  /** Seconds that a session that requires its checkpoint waits for it, before it starts without. */
  | 'checkpointWait'
  /** False: an attempt that failed before user code started does not use up `maxRetries`. */
  | 'countPreStartFailures'
  /** The delay of each retry, instead of the formula (`retryDelay`, `backoff`, `backoffMultiplier`, `maxRetryDelay`); the last one repeats. Null means the formula. */
  | 'delays'
  /** Failures that are retried. */
  | 'eligibleCauses'
  /** False: no retry events are sent. Decisions are stored in any case. */
  | 'emitRetryEvents'
  /** How delays are randomized. */
  | 'jitter'
  /** Maximum jitter of DETERMINISTIC and RANDOM as a share of the delay, 0 to 1. */
  | 'jitterRatio'
  /** No retry starts later than this after the first attempt was created. Null means no limit. */
  | 'maxElapsed'
  /** Number of retries: one less than the number of attempts. 0 means none. */
  | 'maxRetries'
  /** Longest delay. Null means the absolute ceiling, 86400. */
  | 'maxRetryDelay'
  /** Limit on retries that do not use up `maxRetries`. */
  | 'maxUncountedRetries'
  /** False: a program that exits with 0 has succeeded, even if the lack of memory killed one of its processes. Failures with another exit code keep the cause OOM_KILLED. */
  | 'oomIsFailure'
  /** True: a retry runs exactly the image of the attempt before, even if its tag now refers to another. */
  | 'pinImage'
  /** Seconds without progress after which an attempt has failed (HUNG). Null means no limit. Without `eligibleCauses` anywhere, HUNG is then retried. */
  | 'progressTimeout'
  /** The first delay. */
  | 'retryDelay'
  /** Rules in order; the first that matches decides. */
  | 'rules'
  /** True: requests in a program's verdict file are followed. */
  | 'trustVerdicts';

/** How a session is retried. Durations are seconds. Missing fields come from the defaults of project, domain and cluster, in this order. */
export type RetryPolicyInput = {
  /** How delays grow. */
  backoff?: RetryBackoff | null | undefined;
  /** Factor by which delays grow, if they do; more than 0. */
  backoffMultiplier?: number | null | undefined;
  /** Whether a retry runs where the checkpoint of earlier attempts is. */
  checkpoint?: CheckpointWish | null | undefined;
  /** Seconds that a session that requires its checkpoint waits for it, before it starts without: more than 0. */
  checkpointWait?: number | null | undefined;
  /** False: an attempt that failed before user code started does not use up `maxRetries`. */
  countPreStartFailures?: boolean | null | undefined;
  /** The delay of each retry, instead of the formula (`retryDelay`, `backoff`, `backoffMultiplier`, `maxRetryDelay`): 1 to 100 delays of at most a day; the last one repeats. Without `maxRetries` there are as many retries as delays, and without `jitter` the delays are exact. Null means the formula. */
  delays?: Array<number | string> | null | undefined;
  /** Failures that are retried. */
  eligibleCauses?: Array<FailureCause> | null | undefined;
  /** False: no retry events are sent. Decisions are stored in any case. */
  emitRetryEvents?: boolean | null | undefined;
  /** How delays are randomized. */
  jitter?: RetryJitter | null | undefined;
  /** Maximum jitter of DETERMINISTIC and RANDOM as a share of the delay, 0 to 1. */
  jitterRatio?: number | null | undefined;
  /** No retry starts later than this after the first attempt was created. Null means no limit. */
  maxElapsed?: number | null | undefined;
  /** Number of retries, 0 to 100: one less than the number of attempts. 0 means no retries, even if the defaults allow some. */
  maxRetries?: number | null | undefined;
  /** Longest delay. Null means the absolute ceiling, 86400. */
  maxRetryDelay?: number | null | undefined;
  /** 0 to 100: limit on retries that do not use up `maxRetries`. */
  maxUncountedRetries?: number | null | undefined;
  /** False: a program that exits with 0 has succeeded, even if the lack of memory killed one of its processes. Failures with another exit code keep the cause OOM_KILLED. */
  oomIsFailure?: boolean | null | undefined;
  /** True: a retry runs exactly the image of the attempt before, even if its tag now refers to another. */
  pinImage?: boolean | null | undefined;
  /** A predefined policy for the fields that are missing here. The session stores the fields, not the name of the preset. */
  preset?: RetryPolicyPreset | null | undefined;
  /** Seconds without progress after which an attempt has failed (HUNG): at least 1. Null means no limit. Without `eligibleCauses` anywhere, HUNG is then retried. */
  progressTimeout?: number | null | undefined;
  /** The first delay, more than 0. */
  retryDelay?: number | null | undefined;
  /** Rules in order, at most 20; the first that matches decides. */
  rules?: Array<RetryRuleInput> | null | undefined;
  /** True: requests in a program's verdict file are followed. */
  trustVerdicts?: boolean | null | undefined;
};

/** Sources of a policy's fields; earlier ones take precedence. */
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

/** Predefined policies. */
export type RetryPolicyPreset =
  /** Ten attempts, 900 s apart, for the exit codes that CMS grid jobs recover from, with more memory, more time or another resource group where that helps. Every other exit code is final. */
  | 'CMS_EXIT_CODES';

/** Action of a rule for the failures that it matches. */
export type RetryRuleAction =
  /** Does not retry. */
  | 'FAIL'
  /** Retries, even if the cause is not in `eligibleCauses`. */
  | 'RETRY'
  /** Retries without using up `maxRetries`. */
  | 'RETRY_UNCOUNTED';

/** A rule for one kind of failure. */
export type RetryRuleInput = {
  /** The action for these failures. */
  action: RetryRuleAction;
  /** Where the retry does not run if it can run elsewhere. */
  avoid?: RetryAvoidance | null | undefined;
  /** Base delay in seconds, in place of the formula's. */
  delay?: number | null | undefined;
  /** Where the retry does not run, even if it has to wait. */
  exclude?: RetryExclusion | null | undefined;
  /** The failures that the rule applies to. */
  match: RetryRuleMatchInput;
  /** Growth of the memory that each GPU must have: from what the session asks for, or else from that of the GPU that the failed attempt had. */
  scaleGpuMemory?: RetryGpuMemoryGrowthInput | null | undefined;
  /** Growth of slots. */
  scaleResources?: Array<RetrySlotGrowthInput> | null | undefined;
  /** Growth of the batch timeout, after a timeout. */
  scaleTimeout?: RetryTimeoutGrowthInput | null | undefined;
};

/** Conditions of a rule. All given conditions must match. */
export type RetryRuleMatchInput = {
  /** The cause is one of these. */
  causes?: Array<FailureCause> | null | undefined;
  /** The exit code is one of these. */
  exitCodes?: Array<number | string> | null | undefined;
  /** There is an exit code, and it is none of these. */
  exitCodesNotIn?: Array<number | string> | null | undefined;
  /** The failure reason matches this pattern, with `*` and `?`. */
  reason?: string | null | undefined;
};

/** Scope of a retry setting. */
export type RetryScope =
  /** The whole cluster. */
  | 'CLUSTER'
  /** All projects of a domain. */
  | 'DOMAIN'
  /** One project. */
  | 'PROJECT';

/** How a slot grows from attempt to attempt. It never shrinks. */
export type RetrySlotGrowthInput = {
  /** Factor for each attempt. */
  factor: number;
  /** What is multiplied by the factor; REQUEST if missing. */
  from?: RetryGrowthStart | null | undefined;
  /** Maximum; bytes take k, m, g, t. */
  max?: string | null | undefined;
  /** Name of the slot. */
  slot: string;
};

/** How the batch timeout grows from attempt to attempt. It never shrinks. */
export type RetryTimeoutGrowthInput = {
  /** Factor for each attempt. */
  factor: number;
  /** Maximum, in seconds. */
  max?: number | null | undefined;
};

/** The GPU to put back into service. */
export type ReturnGpuInput = {
  /** Id of its agent. */
  agentId: string;
  /** Idempotency key chosen by the client, unique in the project: a repeated request with the same key changes nothing, and returns what the first one did. Kept for 14 days. */
  clientKey?: string | null | undefined;
  /** The reason, for people. */
  reason?: string | null | undefined;
  /** Its UUID, as in `Agent.gpus`. */
  uuid: string;
};

/** A token to revoke. */
export type RevokeTokenInput = {
  /** The reason, for people; recorded in the audit log. */
  reason?: string | null | undefined;
  /** Id of the token. */
  tokenId: string;
};

/** The webhook whose secret is replaced. */
export type RotateWebhookSecretInput = {
  /** Seconds for which requests are also signed with the old secret: a day by default, at most 7 days. */
  overlapSeconds?: number | null | undefined;
  /** The reason, for people; recorded in the audit log. */
  reason?: string | null | undefined;
  /** Id of the webhook. */
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
  /** It has ended. */
  | 'TERMINATED'
  /** Service discovery no longer lists it; its session ends after the drain time. */
  | 'TERMINATING'
  /** It fails its checks; it is replaced if this continues. */
  | 'UNHEALTHY';

/** The schedule to run. */
export type RunScheduleNowInput = {
  /** Idempotency key chosen by the client, unique for the schedule: a request with the same key makes no second run, and returns the first one. */
  clientKey?: string | null | undefined;
  /** The reason, for people; recorded in the audit log. */
  reason?: string | null | undefined;
  /** Its id. */
  scheduleId: string;
};

/** The deployment to scale. Missing fields stay as they are. */
export type ScaleDeploymentInput = {
  /** Idempotency key chosen by the client, unique in the project: a repeated request with the same key changes nothing, and returns what the first one did. Kept for 14 days. */
  clientKey?: string | null | undefined;
  /** Id of the deployment. */
  deploymentId: string;
  /** Maximum number of extra replicas during an update. Null: a quarter of the replicas, rounded up. */
  maxSurge?: number | null | undefined;
  /** Minimum number of healthy replicas during an update. Null: three quarters of the replicas, rounded up. */
  minHealthy?: number | null | undefined;
  /** The reason, for people; recorded in the audit log. */
  reason?: string | null | undefined;
  /** Desired number of healthy routes. */
  replicas?: number | null | undefined;
};

/** All given conditions must match. */
export type ScheduleFilter = {
  /** Filter by name. */
  name?: StringFilter | null | undefined;
  /** True: only paused schedules; false: only those that are not paused. */
  paused?: boolean | null | undefined;
  /** In the project of this name. */
  project?: string | null | undefined;
};

/** What happens to a run that is due while a chain of its schedule is active. */
export type ScheduleOverlap =
  /** The active chain is terminated, and then the run starts. */
  | 'CANCEL_OTHER'
  /** The run waits until that chain has ended; at most 100 runs wait. */
  | 'QUEUE'
  /** The run is skipped. */
  | 'SKIP';

/** Outcome of a run. */
export type ScheduleRunOutcome =
  /** No server could make it in time, and `catchUp` does not cover it. */
  | 'MISSED'
  /** It waits for an earlier one to end. */
  | 'QUEUED'
  /** Its session was refused with an error of `createSession`: see `code` and `reason`. */
  | 'REFUSED'
  /** It was skipped because of another run: see `reason`. */
  | 'SKIPPED'
  /** It created a chain. */
  | 'STARTED';

/** The part of the server that did something. */
export type SchedulingHandler =
  /** The agent reported. */
  | 'AGENT_SYNC'
  /** Begins new deployments. */
  | 'CHECK_PENDING_DEPLOYMENT'
  /** Compares the number of routes with that of replicas. */
  | 'CHECK_REPLICA_DEPLOYMENT'
  /** Ends the routes of destroyed deployments. */
  | 'DESTROYING_DEPLOYMENT'
  /** A person destroyed the deployment. */
  | 'DESTROY_DEPLOYMENT'
  /** A kernel has ended. */
  | 'DETECT_TERMINATION'
  /** A person drained the agent. */
  | 'DRAIN_AGENT'
  /** Ends sessions whose batch timeout is over, if their agent does not. */
  | 'ENFORCE_BATCH_TIMEOUTS'
  /** Judges health checks. */
  | 'HEALTH_CHECK_ROUTE'
  /** A part that this version of the server does not have. */
  | 'OTHER'
  /** Has agents prepare kernels. */
  | 'PREPARE_SESSIONS'
  /** All kernels are prepared. */
  | 'PROMOTE_TO_PREPARED'
  /** A kernel fetches its image. */
  | 'PROMOTE_TO_PULLING'
  /** All kernels run. */
  | 'PROMOTE_TO_RUNNING'
  /** All kernels have ended. */
  | 'PROMOTE_TO_TERMINATED'
  /** Starts the sessions of routes. */
  | 'PROVISIONING_ROUTE'
  /** Compares routes with the revision. */
  | 'RECONCILE_DEPLOYMENT'
  /** The agent registered. */
  | 'REGISTER_AGENT'
  /** A person removed the agent. */
  | 'REMOVE_AGENT'
  /** A person let the agent accept work again. */
  | 'RESUME_AGENT'
  /** Replaces routes that stay unhealthy. */
  | 'ROUTE_EVICTION'
  /** Ends routes that failed to start or whose session ended. */
  | 'RUNNING_ROUTE'
  /** Moves deployments towards their replicas and revision. */
  | 'SCALING_DEPLOYMENT'
  /** Places sessions on agents. */
  | 'SCHEDULE_SESSIONS'
  /** Publishes healthy routes. */
  | 'SERVICE_DISCOVERY_SYNC'
  /** Has agents start kernels. */
  | 'START_SESSIONS'
  /** Ends sessions that have lost their kernels. */
  | 'SWEEP_LEFTOVERS'
  /** A person ended the session. */
  | 'TERMINATE_SESSION'
  /** Stops kernels. */
  | 'TERMINATE_SESSIONS'
  /** Ends the sessions of routes. */
  | 'TERMINATING_ROUTE'
  /** Watches for silent agents. */
  | 'WATCH_AGENTS';

/** The outcome of one try of a scheduler handler. */
export type SchedulingResult =
  /** It was in its status for longer than its resource group allows. */
  | 'EXPIRED'
  /** It failed and will be handled in another way. */
  | 'FAILURE'
  /** It failed too often. */
  | 'GIVE_UP'
  /** It failed and will be tried again. */
  | 'NEED_RETRY'
  /** It was skipped: `message` names what it waits for. */
  | 'SKIPPED'
  /** The information about it was too old. */
  | 'STALE'
  /** It succeeded. */
  | 'SUCCESS';

/** The webhook to test. */
export type SendTestEventInput = {
  /** Idempotency key chosen by the client, unique in the project: a repeated request with the same key changes nothing, and returns what the first one did. Kept for 14 days. */
  clientKey?: string | null | undefined;
  /** The reason, for people; recorded in the audit log. */
  reason?: string | null | undefined;
  /** Id of the webhook. */
  webhookId: string;
};

/** Order in which sessions of the same priority are scheduled. */
export type Sequencer =
  /** The session whose user (or project, if it has no user) has the smallest dominant share of the group comes first. */
  | 'DRF'
  /** The oldest first. */
  | 'FIFO'
  /** The newest first. */
  | 'LIFO';

/** Actions that a person can take on a session. */
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
  /** Filter by labels of the chain. All must match. */
  labels?: Array<LabelFilter> | null | undefined;
  /** In the project of this name. */
  project?: string | null | undefined;
  /** About this session. */
  sessionId?: string | null | undefined;
  /** Of one of these types. */
  types?: Array<SessionEventType> | null | undefined;
};

/** Type of a session event: the event's name in upper case, without `session.`. */
export type SessionEventType =
  /** It ended before it started. */
  | 'CANCELLED'
  /** A person ended it, and its chain with it, before it had a result. */
  | 'CHAIN_CANCELLED'
  /** It failed, and no automatic attempt will follow. Sent once for each epoch. */
  | 'CHAIN_FAILED'
  /** It is the first attempt of a new epoch: its chain was resubmitted. `reason` names the person. */
  | 'CHAIN_REOPENED'
  /** It succeeded, and its chain with it. */
  | 'CHAIN_SUCCEEDED'
  /** It started without the checkpoint of an earlier attempt. */
  | 'CHECKPOINT_MISSING'
  /** It was created. */
  | 'CREATED'
  /** It ended: it failed. */
  | 'ERROR'
  /** It failed in a way that is new in its project: `session.failureGroup`. `reason` is its title. */
  | 'FAILURE_GROUP_NEW'
  /** It failed in a way that was resolved: `session.failureGroup`. `reason` is its title. */
  | 'FAILURE_GROUP_REGRESSED'
  /** Its outputs are settled: they have arrived, or none will. `session.outputs` says which. */
  | 'OUTPUTS_COMPLETE'
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
  /** Its status changed to one that is not final. */
  | 'STATUS_CHANGED'
  /** It ended: it succeeded, or a person terminated it. */
  | 'TERMINATED';

/** All given conditions must match. */
export type SessionFilter = {
  /** All of these filters match. */
  AND?: Array<SessionFilter> | null | undefined;
  /** This filter does not match. */
  NOT?: SessionFilter | null | undefined;
  /** At least one of these filters matches. */
  OR?: Array<SessionFilter> | null | undefined;
  /** With a kernel that is or was on the agent with this id. */
  agent?: string | null | undefined;
  /** Filter by `attempt`, the position in the chain. */
  attempt?: IntRange | null | undefined;
  /** In this chain. */
  chainId?: string | null | undefined;
  /** With this concurrency key. */
  concurrencyKey?: string | null | undefined;
  /** Filter by creation time. */
  createdAt?: DateTimeFilter | null | undefined;
  /** Sessions that start only once this chain has succeeded. */
  dependsOn?: string | null | undefined;
  /** Filter by `epoch`. */
  epoch?: IntRange | null | undefined;
  /** Ended with one of these exit codes. */
  exitCode?: Array<number> | null | undefined;
  /** Failed for one of these causes. */
  failureCause?: Array<FailureCause> | null | undefined;
  /** Failed, in the group of failures with this id. */
  failureGroup?: string | null | undefined;
  /** With one of these `failureReason`s. */
  failureReason?: Array<string> | null | undefined;
  /** Members of the group with this id. */
  group?: string | null | undefined;
  /** Retry is held for one of these reasons. */
  holdReason?: Array<HoldReason> | null | undefined;
  /** The beginning of the id: at least its first 8 hexadecimal digits. */
  idPrefix?: string | null | undefined;
  /** With this label. `labels` takes several, and other conditions. */
  label?: LabelInput | null | undefined;
  /** Filter by labels. All must match. */
  labels?: Array<LabelFilter> | null | undefined;
  /** Filter by `maxRetries`. */
  maxRetries?: IntRange | null | undefined;
  /** Filter by name. */
  name?: StringFilter | null | undefined;
  /** Of one of these origins. */
  origin?: Array<SessionOrigin> | null | undefined;
  /** The attempt that follows the session with this id. */
  parentSessionId?: string | null | undefined;
  /** In the project of this name. */
  project?: string | null | undefined;
  /** In the resource group of this name. */
  resourceGroup?: string | null | undefined;
  /** With one of these results. */
  result?: Array<SessionResult> | null | undefined;
  /** Filter by `retryCount`. */
  retryCount?: IntRange | null | undefined;
  /** With `retryState.phase` in one of these. */
  retryPhase?: Array<RetryPhase> | null | undefined;
  /** Of one of these types. */
  sessionType?: Array<SessionType> | null | undefined;
  /** Filter by the time when user code started. */
  startedAt?: DateTimeFilter | null | undefined;
  /** In one of these statuses. */
  status?: Array<SessionStatus> | null | undefined;
  /** Filter by `statusReason`, the explanation of its status. */
  statusReason?: StringFilter | null | undefined;
  /** Filter by the time of the end. */
  terminatedAt?: DateTimeFilter | null | undefined;
  /** Whether it was ended by its batch timeout. */
  timedOut?: boolean | null | undefined;
  /** Of the user of this name. */
  user?: string | null | undefined;
};

/** What a group of sessions waits for in another one. */
export type SessionGroupCondition =
  /** That it ends as SUCCEEDED. Otherwise the group that waits fails. */
  | 'ALL_SUCCEEDED'
  /** That it ends, in whatever way. */
  | 'ENDED'
  /** Each member waits for the member with the same index there to succeed. */
  | 'SAME_INDEX';

/** A group of the same project to wait for. */
export type SessionGroupDependencyInput = {
  /** What to wait for. */
  condition?: SessionGroupCondition | null | undefined;
  /** Id of the group. */
  groupId: string;
};

/** All given conditions must match. */
export type SessionGroupFilter = {
  /** True: only groups that have ended; false: only those that have not. */
  ended?: boolean | null | undefined;
  /** In the project of this name. */
  project?: string | null | undefined;
  /** Whose name or key begins with this. */
  search?: string | null | undefined;
};

/** How a group of sessions ends. */
export type SessionGroupOutcome =
  /** A person cancelled it, or members of it. */
  | 'CANCELLED'
  /** Too many members failed. */
  | 'FAILED'
  /** As many members succeeded as it needs. */
  | 'SUCCEEDED';

/** What becomes of running members once a group has failed. Those that do not run are cancelled. */
export type SessionGroupRest =
  /** They run to their end. */
  | 'LET_RUN'
  /** They are terminated. */
  | 'STOP';

/** State of a group of sessions. */
export type SessionGroupState =
  /** It has ended, because a person cancelled it or members of it. */
  | 'CANCELLED'
  /** Its outcome is decided, and the rest of its members is ending. */
  | 'ENDING'
  /** It has ended and failed. */
  | 'FAILED'
  /** It accepts further members. */
  | 'OPEN'
  /** It has all of its members, and its outcome is not decided. */
  | 'RUNNING'
  /** It has ended and succeeded. */
  | 'SUCCEEDED';

/** One field to order by. */
export type SessionOrder = {
  /** Direction. */
  direction?: OrderDirection | null | undefined;
  /** Field to order by. */
  field: SessionOrderField;
};

/** Fields that sessions can be ordered by. */
export type SessionOrderField =
  /** Its position in its chain. */
  | 'ATTEMPT'
  /** When it was created. */
  | 'CREATED_AT'
  /** Its name, compared byte by byte. */
  | 'NAME'
  /** Its priority. */
  | 'PRIORITY'
  /** When it entered its status. */
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

/** Selects the sessions of an action. Give exactly one of the fields. */
export type SessionSelection =
  {   /** Selects the newest sessions of the chains that match now. The rules of `filter` apply. */
  chainFilter: ChainFilter; filter?: never; sessionIds?: never; }
  |  { chainFilter?: never;   /** Selects the sessions that match now, at most 100000. Sessions that match later are not included. An empty filter is refused. */
  filter: SessionFilter; sessionIds?: never; }
  |  { chainFilter?: never; filter?: never;   /** Ids of the sessions; at most 100000. */
  sessionIds: Array<string>; };

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
  /** Its kernels are being stopped or have ended. */
  | 'TERMINATING';

/** Type of a session. */
export type SessionType =
  /** Runs a command until it ends. Only sessions of this type are retried. */
  | 'BATCH'
  /** One replica of a deployment. */
  | 'INFERENCE'
  /** Serves a person until it is terminated. */
  | 'INTERACTIVE';

/** The state of a group of failures. */
export type SetFailureGroupStateInput = {
  /** Idempotency key chosen by the client, unique in the project: a repeated request with the same key changes nothing, and returns what the first one did. Kept for 14 days. */
  clientKey?: string | null | undefined;
  /** Id of the group. */
  failureGroupId: string;
  /** An address with more about it, http or https. */
  link?: string | null | undefined;
  /** Until when it is muted; with MUTED only. Missing: until somebody says otherwise. */
  mutedUntil?: string | null | undefined;
  /** What there is to know about it. */
  note?: string | null | undefined;
  /** The reason, for people; recorded in the audit log. */
  reason?: string | null | undefined;
  /** Its state. */
  state: FailureGroupState;
};

/** The rules of a project for its failures. */
export type SetFailureRulesInput = {
  /** Name of the project. */
  project: string;
  /** The reason, for people; recorded in the audit log. */
  reason?: string | null | undefined;
  /** The rules, at most 30. They replace all earlier ones, and the first one that matches counts. */
  rules: Array<FailureRuleInput>;
};

/** The role of a user in a project. */
export type SetProjectMemberInput = {
  /** Name of the project. */
  project: string;
  /** The reason, for people; recorded in the audit log. */
  reason?: string | null | undefined;
  /** The role: ADMIN, MEMBER or VIEWER. */
  role: TokenRole;
  /** Name of the user. */
  user: string;
};

/** Changes of a quota. Missing fields stay as they are; null removes a limit. */
export type SetQuotaInput = {
  /** Limit on the bytes of all checkpoints, such as `500g`. No new chain starts while it is reached. */
  maxCheckpointBytes?: number | string | null | undefined;
  /** Limit on the bytes of all kept outputs, such as `500g`. Files beyond it are not collected. */
  maxOutputBytes?: number | string | null | undefined;
  /** Limit on the number of PENDING sessions. */
  maxPending?: number | null | undefined;
  /** Limit on the number of sessions placed at the same time. */
  maxRunning?: number | null | undefined;
  /** Name of its owner: the user, project or domain. */
  name: string;
  /** The reason, for people; recorded in the audit log. */
  reason?: string | null | undefined;
  /** Kind of its owner. */
  scope: QuotaScope;
  /** Limits on the resources that all kernels together may hold. Replaces the earlier limits; 0 allows none of a slot. */
  slots?: Array<ResourceSlotInput> | null | undefined;
};

/** Whether the retries of a group of failures are held. */
export type SetRetryBreakerInput = {
  /** Idempotency key chosen by the client, unique in the project: a repeated request with the same key changes nothing, and returns what the first one did. Kept for 14 days. */
  clientKey?: string | null | undefined;
  /** Id of the group. */
  failureGroupId: string;
  /** Whether its breaker is open, and holds them. */
  open: boolean;
  /** The reason, for people; recorded in the audit log. */
  reason?: string | null | undefined;
};

/** The retry policy defaults to set for a scope. */
export type SetRetryDefaultsInput = {
  /** Name of the domain or project; omit it for the cluster. */
  name?: string | null | undefined;
  /** The defaults. They replace all earlier ones of the scope; null removes them. */
  policy?: RetryPolicyInput | null | undefined;
  /** The reason, for people; recorded in the audit log. */
  reason?: string | null | undefined;
  /** Kind of the scope that they apply to. */
  scope: RetryScope;
};

/** The changes of a switch. Missing fields stay as they are. */
export type SetRetrySwitchInput = {
  /** When retries of failures that hit many chains are held by themselves. It has no end; null removes it. */
  breaker?: RetryBreakerSettingInput | null | undefined;
  /** Whether due retries are held. False releases them gradually. */
  disabled?: boolean | null | undefined;
  /** Name of the domain or project; omit it for the cluster. */
  name?: string | null | undefined;
  /** The rate limit: retries beyond it are held until it allows them. Null removes the limit. */
  rateLimit?: RateLimitInput | null | undefined;
  /** The reason, for people. */
  reason?: string | null | undefined;
  /** Kind of the scope that it applies to. */
  scope: RetryScope;
  /** When this change is automatically undone. If missing, the change is permanent. */
  until?: string | null | undefined;
};

/** All given conditions must match. Case matters. */
export type StringFilter = {
  /** Contains this text. */
  contains?: string | null | undefined;
  /** Ends with this text. */
  endsWith?: string | null | undefined;
  /** Equals this text. */
  equals?: string | null | undefined;
  /** Equals one of these texts. */
  in?: Array<string> | null | undefined;
  /** Starts with this text. */
  startsWith?: string | null | undefined;
};

/** The GPU to take out of service. */
export type TakeGpuInput = {
  /** Id of its agent. */
  agentId: string;
  /** Idempotency key chosen by the client, unique in the project: a repeated request with the same key changes nothing, and returns what the first one did. Kept for 14 days. */
  clientKey?: string | null | undefined;
  /** The reason, for people. */
  reason?: string | null | undefined;
  /** Its UUID, as in `Agent.gpus`. */
  uuid: string;
};

/** The session to terminate. */
export type TerminateSessionInput = {
  /** Idempotency key chosen by the client, unique in the project: a repeated request with the same key changes nothing, and returns what the first one did. Kept for 14 days. */
  clientKey?: string | null | undefined;
  /** True: kills its kernels at once, without a grace period to clean up. */
  force?: boolean | null | undefined;
  /** The reason, for people. */
  reason?: string | null | undefined;
  /** Id of any session of the chain. */
  sessionId: string;
};

/** The sessions to terminate. */
export type TerminateSessionsInput = {
  /**
   * Selects the newest sessions of the chains that match now. The rules of `filter` apply.
   * @deprecated Use `select`, of which exactly one field is given.
   */
  chainFilter?: ChainFilter | null | undefined;
  /** Idempotency key chosen by the client, unique in the project: the same key returns the record of the first call. */
  clientKey?: string | null | undefined;
  /** True: nothing is done or recorded; the answer has the number of sessions that would be changed. */
  dryRun?: boolean | null | undefined;
  /**
   * Selects the sessions that match now, at most 100000. Sessions that match later are not included. An empty filter is refused.
   * @deprecated Use `select`, of which exactly one field is given.
   */
  filter?: SessionFilter | null | undefined;
  /** Kills their kernels without a grace period. */
  force?: boolean | null | undefined;
  /** The reason, for people. */
  reason?: string | null | undefined;
  /** Which sessions. */
  select?: SessionSelection | null | undefined;
  /**
   * Ids of the sessions; at most 100000.
   * @deprecated Use `select`, of which exactly one field is given.
   */
  sessionIds?: Array<string> | null | undefined;
};

/** A span of time. */
export type TimeWindow = {
  /** Its beginning; by default seven or thirty days before its end, as the field says. */
  from?: string | null | undefined;
  /** Its end, exclusive; now if missing. */
  to?: string | null | undefined;
};

/** The role of a token, which defines its rights. */
export type TokenRole =
  /** Everything, in its project or, without a project, in all. */
  | 'ADMIN'
  /** Runs kernels; it reads nothing in this API. */
  | 'AGENT'
  /** Reads and changes the sessions of its project. */
  | 'MEMBER'
  /** Reads only service discovery, of its project or of all. Without a project it also reads `/metrics`. */
  | 'METRICS'
  /** Reads its project, except for the values of environment variables. */
  | 'VIEWER';

/** Changes to the specification of its routes. Missing fields stay as they are. */
export type UpdateDeploymentInput = {
  /** Labels that an agent must have to run a route. Replaces all of them. */
  agentLabels?: Array<LabelInput> | null | undefined;
  /** Idempotency key chosen by the client, unique in the project: a repeated request with the same key changes nothing, and returns what the first one did. Kept for 14 days. */
  clientKey?: string | null | undefined;
  /** The program and its arguments. */
  command?: Array<string> | null | undefined;
  /** Id of the deployment. */
  deploymentId: string;
  /** Seconds between removing a route from service discovery and stopping its program. */
  drain?: number | null | undefined;
  /** Its environment, in addition to the variables set by Reprise. Replaces all variables. */
  environ?: Array<EnvVarInput> | null | undefined;
  /** How long an unhealthy route may take to recover, in seconds. */
  evictAfter?: number | null | undefined;
  /** What its GPUs must be like. Missing fields stay as they are; null removes a condition on `model` or `memory`. Conditions on a session without GPUs ask for one. */
  gpus?: GpusInput | null | undefined;
  /** The health check of its routes. */
  healthCheck?: HealthCheckChange | null | undefined;
  /** Container image of its program; for agents without containers, a preset of environment and interpreter. Null: none. */
  image?: string | null | undefined;
  /** Labels of your choice. Replaces all of them. */
  labels?: Array<LabelInput> | null | undefined;
  /** Volumes that its routes mount, as for `createDeployment`. Replaces all of them. */
  mounts?: Array<MountInput> | null | undefined;
  /** Name of the environment variable that holds the program's port. */
  portVariable?: string | null | undefined;
  /** Priority, 0 to 100; higher ones are scheduled first. */
  priority?: number | null | undefined;
  /** The reason, for people; recorded in the audit log. */
  reason?: string | null | undefined;
  /** Name of the resource group for its routes. */
  resourceGroup?: string | null | undefined;
  /** Resources of each route. Replaces all of them. */
  resourceSlots?: Array<ResourceSlotInput> | null | undefined;
  /** Its secret variables, as for `createDeployment`. Replaces all of them. */
  secretEnviron?: Array<EnvVarInput> | null | undefined;
  /** Seconds from the creation of a route to its first successful check. */
  startTimeout?: number | null | undefined;
};

/** A change of a project. */
export type UpdateProjectInput = {
  /** Whether members may end the work of others; if missing, it stays. */
  membersEndAll?: boolean | null | undefined;
  /** Name of the project. */
  name: string;
  /** Days for which outputs are kept whose session does not say; null for the setting of the server. If missing, it stays. */
  outputKeepDays?: number | null | undefined;
  /** The reason, for people; recorded in the audit log. */
  reason?: string | null | undefined;
};

/** Missing fields stay as they are. */
export type UpdateResourceGroupInput = {
  /** Keys of executor options that sessions may set themselves, even if the group sets them too. Replaces all of them. */
  allowedExecutorOptions?: Array<string> | null | undefined;
  /** Session types accepted by the group. Not empty. */
  allowedSessionTypes?: Array<SessionType> | null | undefined;
  /** Timeout in PREPARED and CREATING, in seconds; null means no timeout. */
  createTimeout?: number | null | undefined;
  /** Reason for draining it, for people. Waiting sessions show it. */
  drainReason?: string | null | undefined;
  /** True: no new session is scheduled in it; running kernels keep running. */
  draining?: boolean | null | undefined;
  /** Executor options of all sessions in the group. Replaces all of them; applies to kernels that are assigned later. */
  executorOptions?: Array<ExecutorOptionInput> | null | undefined;
  /** Seconds without a response after which an agent stops its kernels by itself, at least 10. An agent applies a change at its next registration. */
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
  /** The reason, for people; recorded in the audit log. */
  reason?: string | null | undefined;
  /** How an agent is selected. */
  selector?: AgentSelector | null | undefined;
  /** Order in which sessions are scheduled. */
  sequencer?: Sequencer | null | undefined;
  /** Grace period in seconds between asking a kernel to stop and killing it. */
  stopGrace?: number | null | undefined;
  /** Longest grace period that its sessions may ask for, in seconds. */
  stopGraceMax?: number | null | undefined;
  /** Timeout in TERMINATING, in seconds; more than `stopGrace`. */
  terminateTimeout?: number | null | undefined;
};

/** A change of a waiting retry: of its policy, its resources, or both. */
export type UpdateRetryInput = {
  /** Idempotency key chosen by the client, unique in the project: a repeated request with the same key changes nothing, and returns what the first one did. Kept for 14 days. */
  clientKey?: string | null | undefined;
  /** What its GPUs must be like. Missing fields stay as they are; null removes a condition on `model` or `memory`. Conditions on a session without GPUs ask for one. */
  gpus?: GpusInput | null | undefined;
  /** Its fields replace those of the session's policy; missing fields stay as they are. */
  policy?: RetryPolicyInput | null | undefined;
  /** The reason, for people; recorded in the audit log. */
  reason?: string | null | undefined;
  /** Slots that the retry gets instead of those that it would have, as do the attempts after it; the amount 0 removes a slot. Other slots stay as they are. */
  resourceSlots?: Array<ResourceSlotInput> | null | undefined;
  /** Id of any session of the chain. */
  sessionId: string;
};

/** Changes of a schedule; fields that are missing or null stay as they are. */
export type UpdateScheduleInput = {
  /** Number of missed runs to make after a downtime, 0 to 100. */
  catchUp?: number | null | undefined;
  /** Idempotency key chosen by the client, unique in the project: a repeated request with the same key changes nothing, and returns what the first one did. Kept for 14 days. */
  clientKey?: string | null | undefined;
  /** A cron expression of five fields, such as `30 2 * * 1-5`, or a name like `@daily`. For local times that daylight saving skips or repeats, see docs/schedules.md. Replaces `every`. */
  cron?: string | null | undefined;
  /** Seconds between two runs, at least 1. Replaces `cron`. */
  every?: number | null | undefined;
  /** Maximum delay of a run after its planned time, in seconds. */
  jitter?: number | null | undefined;
  /** Its name, unique in its project. */
  name?: string | null | undefined;
  /** What happens to runs that overlap. */
  overlap?: ScheduleOverlap | null | undefined;
  /** The reason, for people; recorded in the audit log. */
  reason?: string | null | undefined;
  /** Id of the schedule. */
  scheduleId: string;
  /** Specification of the sessions from now on. Replaces all of the old one. Its secret variables stay if `secretEnviron` is missing; an empty list removes them. */
  session?: CreateSessionInput | null | undefined;
  /** Time zone of `cron`. */
  timeZone?: string | null | undefined;
};

/** Changes of a webhook. Missing fields stay as they are. */
export type UpdateWebhookInput = {
  /** Only events of this chain. Null means all chains. */
  chainId?: string | null | undefined;
  /** Idempotency key chosen by the client, unique in the project: a repeated request with the same key changes nothing, and returns what the first one did. Kept for 14 days. */
  clientKey?: string | null | undefined;
  /** Description, for people. Null removes it. */
  description?: string | null | undefined;
  /** False disables it: nothing is sent and no new deliveries are stored. Waiting deliveries continue when it is enabled again; `replayWebhook` sends the events that it missed. */
  enabled?: boolean | null | undefined;
  /** Event names such as `session.retry_exhausted`. A `*` at the end matches any ending: `session.retry_*`, `deployment.*`. */
  eventTypes?: Array<string> | null | undefined;
  /** Only events of sessions and deployments that have all of these labels. Null means all. */
  labels?: Array<LabelInput> | null | undefined;
  /** The reason, for people; recorded in the audit log. */
  reason?: string | null | undefined;
  /** True: no events of sessions whose chain is a member of a group, only `group.ended` for all of them. */
  skipGroupMembers?: boolean | null | undefined;
  /** URL of the endpoint; waiting deliveries are sent there, too. */
  url?: string | null | undefined;
  /** Id of the webhook. */
  webhookId: string;
};

/** Property that usage is grouped by. */
export type UsageGrouping =
  /** Agent of the kernel that decided how the session ended. */
  | 'AGENT'
  /** Image. Sessions without one are left out. */
  | 'IMAGE'
  /** Value of the label `labelKey`. Sessions without it are left out. */
  | 'LABEL'
  /** Name of the session. */
  | 'NAME'
  /** Project. */
  | 'PROJECT'
  /** Resource group. */
  | 'RESOURCE_GROUP'
  /** Group of sessions. Sessions without one are left out. */
  | 'SESSION_GROUP'
  /** User whose session it is. */
  | 'USER';

/** How the figures of a usage were measured. */
export type UsageSource =
  /** The operating system measured each kernel as a whole, including files that it kept in memory. */
  | 'CGROUP'
  /** Some figures are sums over the processes of a kernel and not exact: memory is the resident memory seen while it ran, with shared pages counted for each process; CPU time lacks processes that no parent waited for. */
  | 'PROCESSES';

/** Status of a delivery. */
export type WebhookDeliveryStatus =
  /** The endpoint responded with a status of 200 to 299. */
  | 'DELIVERED'
  /** All scheduled attempts failed, or the endpoint is gone. */
  | 'FAILED'
  /** It waits for its next attempt, or one is in progress. */
  | 'PENDING';
