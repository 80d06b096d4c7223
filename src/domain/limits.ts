/** Every limit, with its unit in its name and its reason. A test asserts the relations between them. */

import type { JsonBounds } from './json-bounds.ts'

// Work in one transaction
/**
 * Sessions that one handler claims at once: enough for set-based statements, few enough to hold locks for milliseconds
 * only.
 */
export const CLAIM_BATCH_SESSIONS_MAX = 500
/** Retries dispatched in one transaction. */
export const DISPATCH_BATCH_RETRIES_MAX = 500
/** Sessions in one `createSessions`. */
export const CREATE_SESSIONS_MAX = 1000
/** Sessions resubmitted in one transaction; up to this many are resubmitted while the caller waits. */
export const RESUBMIT_BATCH_SESSIONS_MAX = 500
/** Held retries released in one tick of the dispatcher, so that a release is gradual. */
export const HELD_RELEASE_RETRIES_MAX = 200
/** Candidates from which a batch is taken: more than one batch, so that each of several servers finds one. */
export const DISPATCH_WINDOW_RETRIES_MAX = 2_000
/** Spans recorded of one held retry: reasons alternate every few seconds at worst. The last one goes on until its end. */
export const RETRY_WAITS_MAX = 100

// Polling intervals, for when no wake-up came
export const COORDINATOR_INTERVAL_MS = 2_000
export const DISPATCH_INTERVAL_MS = 1_000
/** How often retries held by a kill switch are checked even if no switch changed. */
export const HELD_RECHECK_MS = 900_000
/**
 * Retries that wait for tokens are moved forward together this often, provided the bucket holds what accrues in
 * between.
 */
export const RATE_LIMIT_TICK_MS = 100
/**
 * Also how often servers record their presence: an agent's silence counts only while some server was running to hear
 * it.
 */
export const LEASE_CHECK_INTERVAL_MS = 2_000
export const RELAY_POLL_INTERVAL_MS = 500
export const BATCH_TIMEOUT_CHECK_INTERVAL_MS = 500
/**
 * How long a session that timed out waits for a live agent to report how its kernels ended. Their output goes first,
 * which takes minutes on a slow line; an agent that answers all this time and does not report them is faulty.
 */
export const END_AWAITED_MAX_MS = 3_600_000

/** How often rows that no handler sees are swept. */
export const SWEEP_INTERVAL_MS = 30_000
/** Only rows in this state for this long are swept: their handler has had several passes by then. */
export const LEFTOVER_AFTER_MS = 60_000

// Agents
export const HEARTBEAT_INTERVAL_MS = 5_000
/** Three missed heartbeats. */
export const SUSPECT_AFTER_MS = 15_000
/** Eight missed heartbeats. */
export const LOST_AFTER_MS = 40_000
/** Added to `fenceAfter` to allow for clocks that run at different speeds and for a slow kill. */
export const FENCE_MARGIN_MS = 15_000
/** How long a sync waits at the server for orders before it returns without any. */
export const SYNC_WAIT_MAX_MS = 5_000
/** If no server was present for this long, it was an outage: each agent then gets a full lease. */
export const SERVER_OUTAGE_AFTER_MS = 8_000

/** Agents whose syncs one server keeps in order: more than one server has. */
export const SYNC_LINES_MAX = 10_000

/** Kernels in one report of an agent; a larger node is run as several agents. */
export const OBSERVED_KERNELS_MAX = 20_000

/** What an agent may claim that a kernel used: more than any machine has, and sums of it stay finite. */
export const PEAK_MEMORY_BYTES_MAX = 2 ** 50
/** Ten years. */
export const WALL_SECONDS_MAX = 315_360_000
/** Ten years of 65,536 processors. */
export const CPU_SECONDS_MAX = WALL_SECONDS_MAX * 65_536

/** What an agent says of a kernel that waits or is prepared: one line for people. */
export const REPORTED_TEXT_LENGTH_MAX = 200
/** Slurm's ids have digits, and for tasks of arrays `_` and digits. */
export const SLURM_JOB_ID_LENGTH_MAX = 32
/** Volumes in the kernels of one session, and how long the paths are under which they are there. */
export const MOUNTS_MAX = 16
export const MOUNT_PATH_LENGTH_MAX = 512
/** Names of volumes in one answer. */
export const VOLUMES_LISTED_MAX = 1_000
/** Volumes of one agent, and the projects named for one of them. */
export const AGENT_VOLUMES_MAX = 100
export const VOLUME_PROJECTS_MAX = 1_000
/** What an agent reports of itself for people: one of each kind, and to spare. */
export const AGENT_WARNINGS_MAX = 20
export const AGENT_WARNING_LENGTH_MAX = 500

/** Chains in one report of an agent: 40 bytes and three index probes each. */
export const REPORTED_CHAINS_MAX = 10_000
/** How soon a session that waits for its checkpoint is considered again: an agent may be back. */
export const CHECKPOINT_PAUSE_MS = 5_000
/** Files and directories that an agent counts of a checkpoint, and for how long, before it reports the end of a kernel. */
export const CHECKPOINT_LOOK_ENTRIES_MAX = 10_000
/** Entries that are always counted, however long it takes: a busy machine reports a small checkpoint completely, too. */
export const CHECKPOINT_LOOK_ENTRIES_MIN = 100
export const CHECKPOINT_LOOK_MS = 200
/** Between two measurements of the directories of chains that run: one pass of `du` over each. */
export const CHAIN_MEASURE_INTERVAL_MS = 300_000
/** Sizes in one sync of an agent: 80 bytes and four index probes each. */
export const REPORTED_SIZES_MAX = 1_000
/** How soon a session is considered again that waits for its quota of checkpoints: some may have been dropped. */
export const CHECKPOINT_QUOTA_PAUSE_MS = 15_000
/** Chains that one answer lets an agent drop: each directory is renamed between two orders. */
export const DROPPED_CHAINS_MAX = 500
/** Between two reports of all chains for which an agent keeps a directory. Retention is counted in days. */
export const CHAIN_REPORT_INTERVAL_MS = 3_600_000

/** With less on a disk, it counts as full: room for what must be written down of kernels that run. */
export const DISK_LOW_BYTES = 1024 * 1024
/** How often an agent looks whether there is space on its disks: one statement to the operating system for each. */
export const DISK_CHECK_INTERVAL_MS = 2_000
/** Why an agent takes no new kernels, in characters. */
export const REFUSAL_LENGTH_MAX = 1_000

/** A registration: several times the size of 64 labels and 32 slots with the longest names and values. */
export const REGISTER_BYTES_MAX = 256 * 1024
/** A sync: the logs if each byte is a control character, which JSON writes as six, and 400 bytes per kernel. */
export const SYNC_BYTES_MAX = 36 * 1024 * 1024
/** How long the body of an agent's request may take to arrive; the sender waits 10 s for the response. */
export const AGENT_BODY_WITHIN_MS = 15_000
/** Two heartbeats: with less, one late heartbeat would stop kernels. */
export const FENCE_AFTER_MIN_SECONDS = 10
/** A resource group's timeout: the most that the column holds, in ms. */
export const GROUP_TIMEOUT_MAX_SECONDS = 2_147_483

// Scheduling
/** Tries and reschedules of a resource group. */
export const GROUP_TRIES_MAX = 1_000
/** The first pause before a handler's next try; it doubles up to TRY_PAUSE_MAX_MS. */
export const TRY_PAUSE_MIN_MS = 100
export const TRY_PAUSE_MAX_MS = 10_000
/**
 * A session is overdue when this many later ones were started before it. The index sessions_holding_line repeats the
 * number.
 */
export const HEAD_OF_LINE_SKIPS_MAX = 50
/**
 * Overdue sessions for which one group reserves capacity at once; the others come next. In simulations with every tenth
 * session large and more work than fits, 1 makes large ones wait for two running times and 4 for one; 20 leave a third
 * of the agents idle and 4 a seventh.
 */
export const RESERVATIONS_MAX = 4
/** Overdue sessions claimed in one scheduling pass: the first of the queue. */
export const OVERDUE_PER_PASS_MAX = 64
/**
 * Scheduling classes read in one scheduling pass: each is one index probe, about 30 µs. The next pass continues after
 * them.
 */
export const CLASSES_PER_PASS_MAX = 256
/** Consecutive passes that continue from class to class although nothing fits; after that, an interval passes first. */
export const CLASS_PASSES_MAX = 8
/** Expired sessions claimed in addition in one pass. */
export const EXPIRED_PER_PASS_MAX = 100
/**
 * How often a session that waits for others is checked: after a tenth of the time that it has waited, within these
 * bounds.
 */
export const DEPENDENCY_PAUSE_MIN_MS = 1_000
export const DEPENDENCY_PAUSE_MAX_MS = 30_000
/** Of a concurrency key: what lets more run at once is a quota. */
export const CONCURRENCY_LIMIT_MAX = 1_000
export const CONCURRENCY_KEY_LENGTH_MAX = 256
/** Locks for all concurrency keys: a few that two keys may share, since PostgreSQL has room for some thousand. */
export const CONCURRENCY_KEY_LOCKS_MAX = 64
/** Freed keys whose places are offered in one transaction. */
export const FREED_KEYS_PER_PASS_MAX = 500
/** A session that waits for its key is offered a place as soon as one is free; looked at anyway after this long. */
export const CONCURRENCY_KEY_PAUSE_MS = 300_000
/** Sessions that `pendingReason` names of those that hold a key. */
export const KEY_HOLDERS_SHOWN_MAX = 3
/** How far a session's position in line is counted for its pending reason. */
export const QUEUE_POSITION_MAX = 1_000

// Deployments
/** How often deployments and routes are checked without a wake-up: one statement if there are none. */
export const DEPLOYMENT_INTERVAL_MS = 1_000
/** Routes of one deployment started in one pass: its transaction holds the deployment for milliseconds. */
export const ROUTES_STARTED_PER_PASS_MAX = 100
/** A route that stayed healthy for this long was no failed start, and ends the backoff. */
export const LASTING_HEALTH_MS = 30_000
/** The pause before the next route after failures: it doubles from the minimum to the maximum. */
export const ROUTE_BACKOFF_MIN_MS = 1_000
export const ROUTE_BACKOFF_MAX_MS = 300_000
/** After this time a deployment counts as destroyed even if it still has routes; they end by themselves. */
export const DESTROY_TIMEOUT_MS = 600_000
/** Concurrent health checks of one server: each occupies a socket for up to its timeout. */
export const HEALTH_CHECKS_AT_ONCE_MAX = 256
/** How often due checks are claimed without a wake-up. */
export const HEALTH_CHECK_INTERVAL_MS = 1_000
/** Added to a check's own timeout before another server repeats a check whose server has died. */
export const HEALTH_CHECK_LEASE_MARGIN_MS = 2_000
/** Checks are spread over this percentage of their interval, so that those started together drift apart. */
export const HEALTH_CHECK_JITTER_PERCENT_MAX = 10
/** The part of a response body that is read. */
export const HEALTH_CHECK_BODY_BYTES_MAX = 4 * 1024
/** How often the files of service discovery are compared with the published endpoints. */
export const DISCOVERY_INTERVAL_MS = 1_000

// Uploaded code
/** Of one archive, unless it is configured: sources, not data. It arrives within one request, at 4.5 megabits per second. */
export const UPLOAD_BYTES_DEFAULT = 64 * 1024 ** 2
/** However it is configured: a size in an archive has 11 octal digits. */
export const UPLOAD_CEILING_BYTES = 8 * 1024 ** 3
/** Of all archives of a project, unless it is configured. */
export const UPLOAD_PROJECT_BYTES_DEFAULT = 10 * 1024 ** 3
/** Files, directories and links of one archive: an agent makes each by itself. */
export const UPLOAD_ENTRIES_MAX = 20_000
/** An archive that is in use is noted as such this often: sessions that are created in thousands write nothing. */
export const CODE_USE_NOTED_MS = 600_000
/** Files that no record names are left alone for so long: an upload may still be making them. */
export const CODE_LEFTOVER_AFTER_MS = 86_400_000
/** Archives removed in one transaction: a file each. */
export const RETENTION_BATCH_CODE_MAX = 50

// Retention
export const RETENTION_INTERVAL_MS = 300_000
/** Chains in one transaction: with their sessions, kernels, logs and history some thousands of rows. */
export const RETENTION_BATCH_CHAINS_MAX = 200
/** Agents in one transaction: each one costs a scan of all kernels. */
export const RETENTION_BATCH_AGENTS_MAX = 10
/** Rows of one table in one transaction. */
export const RETENTION_BATCH_ROWS_MAX = 5_000

// One request, whatever it asks for
/** A body, or a message of a WebSocket. The largest documents of user interfaces have a twentieth of it. */
export const REQUEST_BYTES_MAX = 256 * 1024
/** A body with nothing but `createSessions`: 1000 sessions with 4 KiB each for the command and the environment. */
export const CREATE_SESSIONS_BYTES_MAX = 8 * 1024 * 1024
/**
 * A body without a valid token, which may only introspect the schema, or a message of a WebSocket before its token is
 * known: GraphiQL's own document has 3 KiB.
 */
export const STRANGER_BYTES_MAX = 16 * 1024
/**
 * Values in the JSON of one request, keys of its objects, and their nesting: 5 µs of coercion a value, so that a
 * request never keeps the others waiting for long. The largest retry policy, with 20 rules of 256 exit codes, has
 * 11,000 values, and the deepest filter 14 levels.
 */
export const REQUEST_VALUES_MAX: JsonBounds = { values: 20_000, keys: 10_000, depth: 32 }
/** The same with nothing but `createSessions`: 1000 sessions with 100 values each. */
export const CREATE_SESSIONS_VALUES_MAX: JsonBounds = { values: 100_000, keys: 50_000, depth: 32 }
/** Errors of one request: a program that makes more of them repeats one. */
export const REQUEST_ERRORS_MAX = 50

// What one caller may have of a server
/** Requests of one token in progress, where the configuration says nothing: as many as the database has connections. */
export const REQUESTS_AT_ONCE_DEFAULT = 16
/** How long a request waits for its turn: as long as a read may take. */
export const TURN_WITHIN_MS = 5_000
/** Requests of one token that wait for their turn; each is a document and its variables in memory. */
export const WAITING_REQUESTS_MAX = 1_000
/** Operations on one WebSocket that have begun and not ended, subscriptions aside: half of them wait. */
export const OPERATIONS_PER_SOCKET_MAX = 200
/** Statements of reads that take longer are ended by the database: several times what any page takes. */
export const READ_TIMEOUT_MS = 5_000
/** A request that comes back after a refusal. */
export const RATE_RETRY_AFTER_SECONDS = 1
/** Tokens and addresses whose rates are remembered: far more than are active at once. */
export const RATES_REMEMBERED_MAX = 10_000

// What clients may ask for
export const PAGE_SIZE_DEFAULT = 20
export const PAGE_SIZE_MAX = 100
/** Domains, and projects, in a list of their settings. */
export const SCOPES_LISTED_MAX = 1_000
/** Epochs of one chain in a list: each one is something that a person did. */
export const EPOCHS_LISTED_MAX = 1_000
/** Rows of an attempt's history from which its changes of status are read, the newest ones. */
export const ATTEMPT_MOVES_READ_MAX = 200
/** Attempts of a chain whose segments are counted: a thousand take about 30 ms. */
export const COUNTED_ATTEMPTS_MAX = 1_000
/** Sessions that depend on one chain in a list; a filter finds the others. */
export const DEPENDENTS_LISTED_MAX = 100
/** Spans of time in one answer of statistics: more than a screen has columns for. */
export const STATISTICS_BUCKETS_MAX = 500
/** A day. */
export const STATISTICS_RANGE_DEFAULT_SECONDS = 86_400
/** 31 days: at a million sessions a day, as much as can be counted within the timeout. */
export const STATISTICS_RANGE_MAX_SECONDS = 2_678_400
/** Groups of failures in one answer: more than anybody looks through. */
export const FAILURE_GROUPS_MAX = 100
/** Statistics that take longer are cancelled, so that a dashboard cannot occupy the database. */
export const STATISTICS_TIMEOUT_MS = 10_000
/** A search text: far longer than the words of names and labels. */
export const SEARCH_LENGTH_MAX = 256
/**
 * Sessions, chains and decisions are counted up to here: a page of ten thousand is nobody's, and each row takes time.
 */
export const COUNTED_ROWS_MAX = 10_000
export const NAME_LENGTH_MAX = 256
/** The nesting of filters, and their total number. */
export const FILTER_DEPTH_MAX = 5
export const FILTER_TERMS_MAX = 100
/** Nodes that are read by their ids at once: what a page shows. */
export const NODES_MAX = 200
/** Values of one list in a filter. */
export const FILTER_LIST_MAX = 200
/** Sessions in one resubmission: a minute's work, and a list that still fits a request. */
export const RESUBMISSION_SESSIONS_MAX = 100_000
/**
 * What may be read for one answer. A page of logs has 6 MiB; a page of sessions could have 100 MiB of variables, and
 * whoever makes it from that keeps everybody waiting.
 */
export const ANSWER_BYTES_MAX = 16 * 1024 * 1024
/** Sessions that a dry run names. */
export const DRY_RUN_SESSIONS_MAX = 100
/** Ids that one statement of a filter reads. */
export const SESSION_IDS_PER_READ_MAX = 5_000
/** Sessions, and refusals, shown in the answer of a resubmission; its items show all. */
export const RESUBMISSION_SHOWN_SESSIONS_MAX = 500
export const COMMAND_ARGUMENTS_MAX = 1_000
/** Linux refuses a single argument, and a single `NAME=value`, of more than 128 KiB. */
export const ARGUMENT_BYTES_MAX = 131_071
/**
 * What a program is started with may take 2 MiB in all (a quarter of the usual 8 MiB of stack; each string with its end
 * and a pointer, 9 bytes): so much for the command, so much for the session's variables, and 256 KiB for what server,
 * image and agent add.
 */
export const COMMAND_BYTES_MAX = 768 * 1024
export const ENVIRON_BYTES_MAX = 1024 * 1024
export const ADDED_ENVIRON_BYTES_MAX = 256 * 1024
/** All of it, as the system counts: each string with its end and a pointer. */
export const EXEC_BYTES_MAX = 2 * 1024 * 1024
/** Of that, for the paths of the program and of an interpreter, 4 KiB each at most, and for what shells add. */
export const EXEC_RESERVE_BYTES = 16 * 1024
export const ENVIRON_ENTRIES_MAX = 500
export const LABELS_MAX = 64
export const SLOTS_MAX = 32
export const SLOT_NAME_LENGTH_MAX = 64
/** Scheduling counts in billionths. */
export const SLOT_FRACTION_DIGITS_MAX = 9
/** Digits of one slot amount: a yottabyte in bytes has 25. */
export const AMOUNT_DIGITS_MAX = 30
/** Executors know about ten. */
export const EXECUTOR_OPTIONS_MAX = 32
export const CLUSTER_SIZE_MAX = 1_024
export const DEPENDENCIES_MAX = 64
export const CREATION_ID_LENGTH_MAX = 256
export const CLIENT_KEY_LENGTH_MAX = 256
/** Agents in a list of agents to use or to avoid. */
export const AGENTS_NAMED_MAX = 1_000
export const REASON_LENGTH_MAX = 1_000
/** A year. */
export const BATCH_TIMEOUT_SECONDS_MAX = 31_536_000

/** Sessions in one limit of a quota: the most that the column holds. */
export const QUOTA_SESSIONS_MAX = 2_147_483_647

// Deployments: what clients may ask for
/** Deployments of one project that are not destroyed: service discovery lists them all in one document. */
export const DEPLOYMENTS_PER_PROJECT_MAX = 1_000
/** Replicas of one deployment; each one is a session. */
export const REPLICAS_MAX = 1_000
/** The length of a host name's label, because proxies use the name as one. */
export const DEPLOYMENT_NAME_LENGTH_MAX = 63
export const HEALTH_PATH_LENGTH_MAX = 2_048
/** Ten checks of a replica per second. */
export const HEALTH_INTERVAL_MIN_MS = 100
export const HEALTH_INTERVAL_MAX_SECONDS = 3_600
export const HEALTH_TIMEOUT_MIN_MS = 50
export const HEALTH_TIMEOUT_MAX_SECONDS = 60
/** Consecutive checks. */
export const HEALTH_THRESHOLD_MAX = 100
/** A day, for everything that a deployment waits for: its start, its eviction, and how long a check counts. */
export const DEPLOYMENT_WAIT_MAX_SECONDS = 86_400
/** No client of a service needs longer than an hour for a request in progress. */
export const DRAIN_MAX_SECONDS = 3_600

// Retry
/** For Airflow's settings: Python's longest timedelta. */
export const AIRFLOW_DELAY_SECONDS_MAX = 86_399_999_999_999
export const RETRIES_MAX = 100
export const UNCOUNTED_RETRIES_MAX = 100
export const RULES_MAX = 20
/** Exit codes and ranges in one list of a rule: all that a Unix process can have. */
export const RULE_EXIT_CODES_MAX = 256
/** The range of the column. Schedulers and wrappers have codes beyond a process's 0…255. */
export const EXIT_CODE_MIN = -2_147_483_648
export const EXIT_CODE_MAX = 2_147_483_647
/** Retries per second in a rate limit: far more than a server dispatches. */
export const RATE_LIMIT_RETRIES_MAX = 100_000
/** At least one retry in two days, so that a due time can still be given for a retry that waits for its token. */
export const RATE_LIMIT_PERIOD_MAX_SECONDS = 172_800
/** The hard ceiling of every retry delay: 24 hours. */
export const RETRY_DELAY_CEILING_MS = 86_400_000

// Verdicts of programs
/** A program's verdict file: several times the longest reason that is kept. */
export const VERDICT_BYTES_MAX = 16 * 1024

// Logs
/** Log text kept per kernel. Of more than that, the beginning and the end of each stream are kept. */
export const LOG_BYTES_PER_KERNEL_MAX = 16 * 1024 * 1024
/** The beginning, which arrives while the kernel runs. Of two long streams, 4 MiB are left for their ends. */
export const LOG_HEAD_BYTES_PER_STREAM_MAX = 6 * 1024 * 1024
/** A stream's file on the agent's disk is cut back when it takes this much: what is kept, and what comes until then. */
export const LOG_FILE_CUT_BYTES = 20 * 1024 * 1024
/** How often files are checked: twenty times as long as a check of 64 kernels takes. */
export const LOG_FILE_CHECK_MS = 100
/** The same while one grows faster than it is cut back at every check. */
export const LOG_FILE_FLOOD_CHECK_MS = 20
/** What a file takes at most of a program that writes 300 MB/s: that is 43 MiB in the time of one and a half checks. */
export const LOG_FILE_BYTES_MAX = 64 * 1024 * 1024
/** One chunk of a stream, as agents send it. */
export const LOG_CHUNK_BYTES_MAX = 64 * 1024
/** All chunks in one sync. */
/** Pieces of logs that one statement looks at: a program may write each line by itself. Some 20 ms. */
export const LOG_PIECES_PER_READ_MAX = 20_000
export const LOG_BYTES_PER_SYNC_MAX = 4 * 1024 * 1024

// Between servers
/**
 * Agents named in one hint to the other servers, 39 bytes each: PostgreSQL accepts 8,000. If there are more, the hint
 * means all.
 */
export const WAKE_AGENTS_PER_HINT_MAX = 140
/** Topics in one hint, each of at most 52 bytes. With more, the hint names none and wakes everybody. */
export const WAKE_TOPICS_PER_HINT_MAX = 40

// Subscriptions
/** Events queued for a slow subscriber before it gets a gap signal. */
export const SUBSCRIBER_QUEUE_EVENTS_MAX = 10_000
/** Events read from the outbox at once. */
export const RELAY_BATCH_EVENTS_MAX = 2_000
/** More than one subscription for each part of a user interface. */
export const SUBSCRIPTIONS_PER_CONNECTION_MAX = 200
/** Twice as many subscribers as one server is designed for. */
export const SUBSCRIPTIONS_PER_TOKEN_MAX = 10_000
/** Links of a browser that wait to be followed: far more than a person clicks on within a minute. */
export const DOWNLOAD_LINKS_PER_BROWSER_MAX = 16
/**
 * Cookies of logins that are looked at in a request. One is ours, the others come from programs on other ports of the
 * host; those that browsers may send after ours are for parent domains.
 */
export const SESSION_COOKIES_MAX = 4
/** How often a silent event stream shows that it lives: proxies cut what is silent for a minute. */
export const STREAM_HEARTBEAT_MS = 12_000
/** How often a subscription to changes may be sent them. */
export const CHANGES_EVERY_MS = { default: 500, min: 100, max: 60_000 }
/** Ids of each kind that one message about changes names: more is for a client to read anew as a whole. */
export const CHANGED_IDS_MAX = 1_000
/**
 * Events of a subscription that share what they read: a statement for each part of them, instead of one for each event.
 * A burst of 10,000 with session and chain lags 0.7 s (p50) by 500, and 2 times that by 100.
 */
export const EVENTS_TOGETHER_MAX = 500
/** Fields of events that are executed together, as their document has them: some 50 ms of the event loop. */
export const EVENT_FIELDS_TOGETHER_MAX = 10_000
/**
 * Events of the outbox that one statement looks at for a subscriber, whether they match or not: some 10 ms, so that no
 * filter and no age of a cursor makes a statement long.
 */
export const SCANNED_EVENTS_MAX = 10_000
/** The same of one page of past events, and of counting them, in several statements: some 100 ms. */
export const PAGE_SCANNED_EVENTS_MAX = 100_000

// Webhooks
/** How often the outbox is polled for events that webhooks want. */
export const WEBHOOK_FAN_OUT_INTERVAL_MS = 500
/** Events turned into deliveries in one transaction. */
export const WEBHOOK_FAN_OUT_EVENTS_MAX = 2_000
export const WEBHOOK_DELIVERY_INTERVAL_MS = 1_000
/** Concurrent attempts of one server: each occupies a socket and a body of a few KiB. */
export const WEBHOOK_ATTEMPTS_AT_ONCE_MAX = 512
/**
 * An attempt without an answer for this long is slow: it gives its place below to others and waits on, and its endpoint
 * gets no other attempt meanwhile. So an endpoint that hangs delays only itself.
 */
export const WEBHOOK_PROMPT_MS = 1_000
/** Attempts of one server that are not slow yet. */
export const WEBHOOK_PROMPT_ATTEMPTS_AT_ONCE_MAX = 32
/** Of these, attempts at failing endpoints: however many are dead, half of the places are left for the others. */
export const WEBHOOK_FAILING_ATTEMPTS_AT_ONCE_MAX = 16
/** Attempts at one endpoint, of all servers; a failing endpoint gets one. */
export const WEBHOOK_ENDPOINT_ATTEMPTS_AT_ONCE_MAX = 4
/**
 * Attempts at the endpoints of one project, of all servers: one for each, and some more. Half of them at failing ones.
 * With many projects it is less: each may have its part of the attempts of one server, and one part is always free.
 */
export const WEBHOOK_PROJECT_ATTEMPTS_AT_ONCE_MAX = 64
/** From the name lookup to the end of the TLS handshake. */
export const WEBHOOK_CONNECT_TIMEOUT_MS = 5_000
/** The whole of an attempt; Standard Webhooks recommends 15 to 30 s. */
export const WEBHOOK_ATTEMPT_TIMEOUT_MS = 20_000
/** An attempt not recorded by then was cut off by a crash. */
export const WEBHOOK_LEASE_MS = 60_000
/** How long a stopping server waits for attempts in progress. */
export const WEBHOOK_STOP_GRACE_MS = 3_000
/** The part of a response body that is read. */
export const WEBHOOK_RESPONSE_BYTES_MAX = 64 * 1024
/** The part of a response body that is kept for people. */
export const WEBHOOK_EXCERPT_BYTES_MAX = 1024
/** The longest pause that an endpoint may ask for by Retry-After. */
export const WEBHOOK_RETRY_AFTER_MAX_MS = 3_600_000
/** Attempts kept for one delivery: five schedules. */
export const WEBHOOK_ATTEMPTS_KEPT_MAX = 50
/** Deliveries are kept for 14 days, four times as long as a schedule lasts; nothing older is replayed. */
export const WEBHOOK_RETENTION_SECONDS = 1_209_600
export const WEBHOOK_RETENTION_INTERVAL_MS = 600_000
/** Deliveries deleted in one statement. */
export const WEBHOOK_RETENTION_BATCH_MAX = 1_000
/** In one project, and as many again for all projects together. */
export const WEBHOOKS_PER_PROJECT_MAX = 50
export const WEBHOOK_URL_LENGTH_MAX = 2_048
export const WEBHOOK_EVENT_TYPES_MAX = 32
/** Both secrets sign for a day after a rotation. */
export const WEBHOOK_SECRET_OVERLAP_SECONDS_DEFAULT = 86_400
export const WEBHOOK_SECRET_OVERLAP_SECONDS_MAX = 604_800
/** Deliveries in one replay. */
export const WEBHOOK_REPLAY_MAX = 10_000
/** Resource groups that a token of agents is bound to. */
export const GROUPS_OF_TOKEN_MAX = 100

// Schedules
/** How often schedules are checked without a wake-up: one statement if none is due. */
export const SCHEDULE_INTERVAL_MS = 2_000
/** How soon it is asked again whether what a waiting run waits for has ended. */
export const SCHEDULE_WAIT_CHECK_MS = 500
/** Schedules whose runs are made in one transaction. */
export const SCHEDULE_BATCH_MAX = 100
/** Of one project. */
export const SCHEDULES_PER_PROJECT_MAX = 1_000
export const SCHEDULE_CRON_LENGTH_MAX = 200
/** As often as a server can reasonably look. */
export const SCHEDULE_EVERY_SECONDS_MIN = 1
export const SCHEDULE_EVERY_SECONDS_MAX = 366 * 86_400
/** An hour: a minute's cron expression then has at most 60 runs that wait for their jitter. */
export const SCHEDULE_JITTER_SECONDS_MAX = 3_600
export const SCHEDULE_CATCH_UP_MAX = 100
/** A run that could not be made for this long after it was due is late: it is made only as far as the catch-up goes. */
export const SCHEDULE_LATE_AFTER_SECONDS = 60
/** Planned times that may be neither late nor in the future: one a second until they are late, or an hour's jitter. */
export const SCHEDULE_ON_TIME_MAX = 62
/** Missed runs that are counted one by one; computing a time costs 0.1 ms. */
export const SCHEDULE_MISSED_COUNTED_MAX = 100
/** Runs of one schedule that wait for an earlier one. */
export const SCHEDULE_QUEUE_MAX = 100
/** Next runs shown of one schedule: each takes 0.1 ms to find. */
export const SCHEDULE_NEXT_RUNS_MAX = 20
/** Last runs shown with a schedule. */
export const SCHEDULE_LAST_RUNS_MAX = 100

// Channels: commands and connections into kernels
/** Of one session on one server: a person's terminals, and a browser's connections to a notebook. */
export const CHANNELS_PER_SESSION_MAX = 64
/** Of one server: each has two sockets and at most four windows of data. */
export const CHANNELS_PER_SERVER_MAX = 1_000
/** Of one agent, whatever servers ask for. */
export const CHANNELS_PER_AGENT_MAX = 256
/** Data of one direction that nobody has taken yet: all that a slow reader makes anybody keep. */
export const CHANNEL_WINDOW_BYTES = 256 * 1024
/** Data of one message. */
export const CHANNEL_CHUNK_BYTES_MAX = 32 * 1024
/** Of one message: a request whose command takes all that it may, escaped. */
export const CHANNEL_MESSAGE_BYTES_MAX = 1024 * 1024
/** Of a command's words together. */
export const CHANNEL_COMMAND_BYTES_MAX = 128 * 1024
export const CHANNEL_COMMAND_WORDS_MAX = 1_024
/** Of the command as the audit log shows it. */
export const CHANNEL_COMMAND_NOTED_LENGTH_MAX = 4_096
/** For the client to say what it wants. */
export const CHANNEL_REQUEST_WITHIN_MS = 10_000
/** For the agent to open a channel: a poll that was under way, and several tries to find the server. */
export const CHANNEL_OPENED_WITHIN_MS = 20_000
/** A peer that has not answered a ping when the next is due is gone. Shorter than the idle timeouts of proxies. */
export const CHANNEL_PING_INTERVAL_MS = 12_000
/** Without a byte in either direction: a forgotten terminal. */
export const CHANNEL_IDLE_MS = 3_600_000
export const CHANNEL_LIFETIME_MS = 24 * 3_600_000
/** Between the hang-up of a command whose client has left and its SIGKILL. */
export const CHANNEL_GRACE_MS = 5_000
export const TERMINAL_SIDE_MAX = 1_000

/** Of the archive of a checkpoint that goes through the servers; what is larger belongs on a store that agents share. */
export const RELAY_BYTES_DEFAULT = 1024 ** 3
export const RELAY_CEILING_BYTES = 1024 ** 4
/** Files, directories and links in it. */
export const RELAY_ENTRIES_MAX = 20_000
/** What nobody writes to for so long is not under way any more: the HTTP server ends requests that stall sooner. */
export const RELAY_LEFTOVER_AFTER_MS = 600_000
/**
 * From a kernel's end, or its program's wish, on. Meanwhile the end is recorded already, and the next attempt waits. An
 * upload is one request, which the HTTP server gives 120 s.
 */
export const RELAY_WITHIN_MS = 120_000
/** Between two looks for what running programs ask to be published: one `lstat` of each. */
export const PUBLISH_LOOK_MS = 1_000
/** Between two copies of a chain, or as long as the last one took: at most half of the time is spent on them. */
export const PUBLISH_PAUSE_MS = 5_000
/** Snapshots that an agent has under way. */
export const PUBLISH_AT_ONCE_MAX = 2
