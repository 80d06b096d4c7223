/**
 * All limits; each has its unit in its name, and its reason in a comment. A test asserts the relations between them.
 */

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
/** Candidates from which a batch is chosen: more than one batch, so that several servers find work at the same time. */
export const DISPATCH_WINDOW_RETRIES_MAX = 2_000
/**
 * Spans recorded per held retry; hold reasons alternate every few seconds at worst. Once the limit is reached, the last
 * span continues to the end of the hold.
 */
export const RETRY_WAITS_MAX = 100

// Polling intervals, used if no wake-up came
export const COORDINATOR_INTERVAL_MS = 2_000
export const DISPATCH_INTERVAL_MS = 1_000
/** Interval at which retries held by a kill switch are checked even if no switch changed. */
export const HELD_RECHECK_MS = 900_000
/** Time between two probes of an open breaker: the first, doubled after each, up to the last. */
export const BREAKER_PROBE_MIN_MS = 60_000
export const BREAKER_PROBE_MAX_MS = 1_800_000
/** Failures, and chains, by which a breaker opens. */
export const BREAKER_COUNT_MIN = 2
export const BREAKER_COUNT_MAX = 100_000
export const BREAKER_WINDOW_MIN_SECONDS = 60
export const BREAKER_WINDOW_MAX_SECONDS = 86_400
/** The newest probes of a breaker that are remembered: a success of one of them closes it. */
export const BREAKER_PROBES_MAX = 50
/**
 * Interval at which retries that wait for rate limit tokens are moved forward together, provided the bucket can hold
 * the tokens that accrue in between.
 */
export const RATE_LIMIT_TICK_MS = 100
/**
 * Interval of the lease check. Servers also record their presence at this interval: an agent's silence counts only
 * while some server was running to hear it.
 */
export const LEASE_CHECK_INTERVAL_MS = 2_000
export const RELAY_POLL_INTERVAL_MS = 500
export const BATCH_TIMEOUT_CHECK_INTERVAL_MS = 500
/**
 * How long a timed-out session waits for a live agent to report the end of its kernels. Their output is shipped first,
 * which takes minutes on a slow line. An agent that answers all this time without reporting the end is faulty.
 */
export const END_AWAITED_MAX_MS = 3_600_000

/** Interval of the sweep for rows that no handler claims. */
export const SWEEP_INTERVAL_MS = 30_000
/** Rows that no handler has claimed are swept only after this time, in which their handler has several passes. */
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

/** Agents whose syncs one server keeps in order; no server has that many. */
export const SYNC_LINES_MAX = 10_000

/** Kernels in one report of an agent; a larger node is run as several agents. */
export const OBSERVED_KERNELS_MAX = 20_000

/**
 * Bounds of the usage figures that an agent may report. This one exceeds the memory of any machine, and sums of it stay
 * finite.
 */
export const PEAK_MEMORY_BYTES_MAX = 2 ** 50
/** Ten years. */
export const WALL_SECONDS_MAX = 315_360_000
/** Ten years on 65,536 processors. */
export const CPU_SECONDS_MAX = WALL_SECONDS_MAX * 65_536

/** Characters of an agent's text about a kernel that is queued or prepared: one line for people. */
export const REPORTED_TEXT_LENGTH_MAX = 200
/** Characters of the line that a program tells about its progress. */
export const PROGRESS_LINE_LENGTH_MAX = 200
/** Characters of a Slurm job id: digits, and for array tasks `_` and more digits. */
export const SLURM_JOB_ID_LENGTH_MAX = 32
/** Volumes mounted in the kernels of one session; the next limit is the length of a mount path. */
export const MOUNTS_MAX = 16
export const MOUNT_PATH_LENGTH_MAX = 512
/** Volume names in one answer. */
export const VOLUMES_LISTED_MAX = 1_000
/** Volumes of one agent; the next limit is the number of projects named for one volume. */
export const AGENT_VOLUMES_MAX = 100
export const VOLUME_PROJECTS_MAX = 1_000
/** Warnings that one agent reports: more than there are kinds. */
export const AGENT_WARNINGS_MAX = 20
export const AGENT_WARNING_LENGTH_MAX = 500

/** Chains in one report of an agent; each takes 40 bytes and three index probes. */
export const REPORTED_CHAINS_MAX = 10_000
/** Pause before a session that waits for its checkpoint is considered again: an agent may have come back. */
export const CHECKPOINT_PAUSE_MS = 5_000
/** Files and directories of a checkpoint that an agent counts before it reports the end of a kernel. */
export const CHECKPOINT_LOOK_ENTRIES_MAX = 10_000
/**
 * Entries that are counted even after the time limit, so that a busy machine also reports a small checkpoint
 * completely.
 */
export const CHECKPOINT_LOOK_ENTRIES_MIN = 100
export const CHECKPOINT_LOOK_MS = 200
/** Pause between two measurements of the directories of running chains: each measurement is one `du` per chain. */
export const CHAIN_MEASURE_INTERVAL_MS = 300_000
/** Sizes in one sync of an agent; each takes 80 bytes and four index probes. */
export const REPORTED_SIZES_MAX = 1_000
/**
 * Pause before a session that waits for its checkpoint quota is considered again: checkpoints may have been dropped.
 */
export const CHECKPOINT_QUOTA_PAUSE_MS = 15_000
/** Chains whose directories one answer lets an agent drop: the agent renames each directory between two orders. */
export const DROPPED_CHAINS_MAX = 500
/** Pause between two reports of all chains for which an agent keeps a directory. Retention is counted in days. */
export const CHAIN_REPORT_INTERVAL_MS = 3_600_000

/** Free space below which a disk counts as full: the records of running kernels must still fit. */
export const DISK_LOW_BYTES = 1024 * 1024
/** Interval at which an agent checks the free space of its disks: one system call per disk. */
export const DISK_CHECK_INTERVAL_MS = 2_000
/** Characters of an agent's reason for taking no new kernels. */
export const REFUSAL_LENGTH_MAX = 1_000
/** Length of the reason why an agent cannot see its GPUs, or why one of them is out of service. */
export const GPU_FAULT_LENGTH_MAX = 1_000
/** GPUs, or instances of GPUs, of one agent. */
export const AGENT_GPUS_MAX = 256
/** Kernels that may share a GPU. With more, each would get less of it than a program needs to start. */
export const GPU_SHARING_MAX = 64

/** Body of a registration: several times the size of 64 labels and 32 slots with the longest names and values. */
export const REGISTER_BYTES_MAX = 256 * 1024
/**
 * Body of a sync: the largest logs, if each byte is a control character, which JSON writes as six bytes, and 400 bytes
 * per kernel.
 */
export const SYNC_BYTES_MAX = 36 * 1024 * 1024
/** Time for the body of an agent's request to arrive; the agent waits 10 s for the response. */
export const AGENT_BODY_WITHIN_MS = 15_000
/** The shortest `fenceAfter`: two heartbeats. With less, one late heartbeat would stop kernels. */
export const FENCE_AFTER_MIN_SECONDS = 10
/** The longest timeout of a resource group: the most that its column holds, in ms. */
export const GROUP_TIMEOUT_MAX_SECONDS = 2_147_483

// Scheduling
/** The most tries, and the most reschedules, of a resource group. */
export const GROUP_TRIES_MAX = 1_000
/** The first pause before a handler's next try; it doubles up to TRY_PAUSE_MAX_MS. */
export const TRY_PAUSE_MIN_MS = 100
export const TRY_PAUSE_MAX_MS = 10_000
/**
 * Later sessions that may be started before a session until it is overdue. The index sessions_holding_line repeats the
 * number.
 */
export const HEAD_OF_LINE_SKIPS_MAX = 50
/**
 * Overdue sessions of one group that have capacity reserved at the same time; other overdue sessions wait for theirs.
 * In simulations with more work than capacity and every tenth session large, 1 makes large sessions wait for two
 * running times and 4 for one; 20 leaves a third of the agents idle and 4 a seventh.
 */
export const RESERVATIONS_MAX = 4
/** Overdue sessions claimed in one scheduling pass: the first of the queue. */
export const OVERDUE_PER_PASS_MAX = 64
/**
 * Scheduling classes read in one scheduling pass; each takes one index probe, about 30 µs. The next pass continues
 * after them.
 */
export const CLASSES_PER_PASS_MAX = 256
/**
 * Consecutive passes that continue from class to class although nothing fits. After that the scheduler waits for an
 * interval.
 */
export const CLASS_PASSES_MAX = 8
/** Expired sessions that one pass claims in addition. */
export const EXPIRED_PER_PASS_MAX = 100
/**
 * Bounds of the pause between two checks of a session that waits for its dependencies: a tenth of the time that it has
 * waited.
 */
export const DEPENDENCY_PAUSE_MIN_MS = 1_000
export const DEPENDENCY_PAUSE_MAX_MS = 30_000
/** The release of a group makes its members due; this pause only bounds the delay if that should fail. */
export const GROUP_PAUSE_MS = 600_000
/** The largest limit of a concurrency key: for more sessions at once, a quota is the right tool. */
export const CONCURRENCY_LIMIT_MAX = 1_000
export const CONCURRENCY_KEY_LENGTH_MAX = 256
/**
 * Locks shared by all concurrency keys. They are few, so that two keys may share one, because PostgreSQL has room for
 * only some thousand.
 */
export const CONCURRENCY_KEY_LOCKS_MAX = 64
/** Freed concurrency keys whose places are offered in one transaction. */
export const FREED_KEYS_PER_PASS_MAX = 500
/**
 * Interval at which a session that waits for its concurrency key is checked anyway. Usually it is offered a place as
 * soon as one is free.
 */
export const CONCURRENCY_KEY_PAUSE_MS = 300_000
/** Holders of a concurrency key that `pendingReason` names. */
export const KEY_HOLDERS_SHOWN_MAX = 3
/**
 * The distinct demands of pending sessions that are judged impossible or possible when chains are counted or filtered
 * by state: about 0.1 ms each.
 */
export const PENDING_DEMANDS_MAX = 1_000
/** The first sessions of a line whose order and expected starts are computed. */
export const QUEUE_SHOWN_MAX = 500
/** Kernels of a resource group that are considered for expected starts; with more, there is no estimate. */
export const QUEUE_HOLDING_MAX = 5_000
/**
 * Steps of an estimate of starts, each the look at one session or agent: 50 to 140 ms of CPU time for a line of 500. What
 * it has not reached then has no estimate.
 */
export const EXPECTED_START_STEPS_MAX = 30_000
/** The sessions of a line that an estimate tries to place at a time, as a scheduling pass reads only the head of the line. */
export const EXPECTED_START_REACH_MAX = 50
/** Successes of a name from which on its attempts have a usual duration: fewer say little about the next one. */
export const USUAL_SUCCESSES_MIN = 8
/** The last successes of a name that count for its usual duration. */
export const USUAL_SUCCESSES_MAX = 50
/** Names whose usual durations one estimate reads, the first in line first. */
export const USUAL_NAMES_MAX = 100
/** The largest position in line that a pending reason counts. */
export const QUEUE_POSITION_MAX = 1_000

// Deployments
/** How often deployments and routes are checked without a wake-up: one statement if there are none. */
export const DEPLOYMENT_INTERVAL_MS = 1_000
/** Routes of one deployment started in one pass, so that its transaction locks the deployment for milliseconds only. */
export const ROUTES_STARTED_PER_PASS_MAX = 100
/** A route that stayed healthy for this long does not count as a failed start, and ends the backoff. */
export const LASTING_HEALTH_MS = 30_000
/** The pause before the next route after failures: it doubles from the minimum to the maximum. */
export const ROUTE_BACKOFF_MIN_MS = 1_000
export const ROUTE_BACKOFF_MAX_MS = 300_000
/** After this time a deployment counts as destroyed even if it still has routes; they end by themselves. */
export const DESTROY_TIMEOUT_MS = 600_000
/** Concurrent health checks of one server; each occupies a socket until its timeout at most. */
export const HEALTH_CHECKS_AT_ONCE_MAX = 256
/** Interval at which due checks are claimed without a wake-up. */
export const HEALTH_CHECK_INTERVAL_MS = 1_000
/** Added to a check's own timeout before another server repeats a check whose server has died. */
export const HEALTH_CHECK_LEASE_MARGIN_MS = 2_000
/** Checks are spread over this percentage of their interval, so that those started together drift apart. */
export const HEALTH_CHECK_JITTER_PERCENT_MAX = 10
/** The part of a response body that is read. */
export const HEALTH_CHECK_BODY_BYTES_MAX = 4 * 1024
/** How often the files of service discovery are compared with the published endpoints. */
export const DISCOVERY_INTERVAL_MS = 1_000

// Blobs
/** Bytes of a part of a transfer: little enough to be sent again, and more than the 5 MiB that S3 asks for. */
export const BLOB_PART_BYTES = 8 * 1024 ** 2
/** Blobs about which an agent asks at once. */
export const BLOBS_ASKED_MAX = 1_000
/** Blobs of which one request carries bytes: their description is in a header, for which proxies allow 8 KiB. */
export const BLOB_SLICES_MAX = 40
/** Time without a use after which a blob is removed, so that a sender that was told of it can still name it. */
export const BLOB_KEPT_MS = 86_400_000
/** The same for parts: a sender that is away for longer begins again. */
export const BLOB_UNFINISHED_KEPT_MS = 6 * 3_600_000
/** How often a store is searched for bytes without a record, which only crashes leave. */
export const BLOB_LEFTOVERS_EVERY_MS = 6 * 3_600_000
/** Blobs removed in one transaction. */
export const RETENTION_BATCH_BLOBS_MAX = 20
/** Time after which the last part is answered although the hash of the whole is still being checked. */
export const BLOB_FINISH_ANSWER_MS = 20_000
/** Parts in the memory of a server at once, of agents and of clients each. */
export const BLOB_PARTS_AT_ONCE_MAX = 12
/** Time for one part of a transfer, in either direction. A whole transfer has no limit. */
export const BLOB_PART_WITHIN_MS = 120_000

// Uploaded code
/**
 * Bytes of one archive, unless configured otherwise: enough for sources, not for data. At 4.5 megabits per second it
 * arrives within one request.
 */
export const UPLOAD_BYTES_DEFAULT = 64 * 1024 ** 2
/** The largest value that can be configured: a size in an archive has 11 octal digits. */
export const UPLOAD_CEILING_BYTES = 8 * 1024 ** 3
/** Bytes of all archives of a project, unless configured otherwise. */
export const UPLOAD_PROJECT_BYTES_DEFAULT = 10 * 1024 ** 3
/** Files, directories and links in one archive: an agent creates each of them separately. */
export const UPLOAD_ENTRIES_MAX = 20_000
/**
 * Interval at which the use of an archive is recorded, so that creating thousands of sessions does not write each time.
 */
export const CODE_USE_NOTED_MS = 600_000
/** Archives whose records are removed one after the other. */
export const RETENTION_BATCH_CODE_MAX = 50

// Retention
export const RETENTION_INTERVAL_MS = 300_000
/** Chains removed in one transaction: with their sessions, kernels, logs and history some thousand rows. */
export const RETENTION_BATCH_CHAINS_MAX = 200
/** Agents removed in one transaction: each one costs a scan of all kernels. */
export const RETENTION_BATCH_AGENTS_MAX = 10
/** Rows of one table removed in one transaction. */
export const RETENTION_BATCH_ROWS_MAX = 5_000

// One request, whatever it contains
/** A request body or a WebSocket message. The largest documents of user interfaces are a twentieth of this. */
export const REQUEST_BYTES_MAX = 256 * 1024
/** A request body that contains only `createSessions`: 1000 sessions with 4 KiB each for command and environment. */
export const CREATE_SESSIONS_BYTES_MAX = 8 * 1024 * 1024
/**
 * A request body without a valid token, which may only introspect the schema, or a WebSocket message before its token
 * is known. GraphiQL's own document has 3 KiB.
 */
export const STRANGER_BYTES_MAX = 16 * 1024
/**
 * Values, object keys and nesting of the JSON in one request: coercion takes 5 µs per value, so that one request does
 * not delay the others for long. The largest retry policy, with 20 rules of 256 exit codes, has 11,000 values; the
 * deepest filter has 14 levels.
 */
export const REQUEST_VALUES_MAX: JsonBounds = { values: 20_000, keys: 10_000, depth: 32 }
/** The same bounds for a request that contains only `createSessions`: 1000 sessions with 100 values each. */
export const CREATE_SESSIONS_VALUES_MAX: JsonBounds = { values: 100_000, keys: 50_000, depth: 32 }
/** Errors reported for one request: a program that causes more repeats the same one. */
export const REQUEST_ERRORS_MAX = 50

// The share of a server that one caller may use
/**
 * Requests of one token processed at the same time, unless configured otherwise: as many as there are database
 * connections.
 */
export const REQUESTS_AT_ONCE_DEFAULT = 16
/** Time that a request waits in the queue of its token: as long as a read may take. */
export const TURN_WITHIN_MS = 5_000
/** Requests in the queue of one token; each keeps a document and its variables in memory. */
export const WAITING_REQUESTS_MAX = 1_000
/** Unfinished operations on one WebSocket, without subscriptions; half of them are queued. */
export const OPERATIONS_PER_SOCKET_MAX = 200
/** Duration after which the database cancels a read statement: several times what any page takes. */
export const READ_TIMEOUT_MS = 5_000
/** `Retry-After` of a request that was refused by a rate limit. */
export const RATE_RETRY_AFTER_SECONDS = 1
/** Tokens and addresses whose request rates are kept: far more than are active at the same time. */
export const RATES_REMEMBERED_MAX = 10_000

// What clients may request
export const PAGE_SIZE_DEFAULT = 20
export const PAGE_SIZE_MAX = 100
/** Domains, or projects, in a list of their settings. */
export const SCOPES_LISTED_MAX = 1_000
/** Epochs of one chain in a list: each one was caused by a person. */
export const EPOCHS_LISTED_MAX = 1_000
/** The newest rows of an attempt's history, from which its status changes are read. */
export const ATTEMPT_MOVES_READ_MAX = 200
/** Attempts of a chain whose segments are counted: a thousand take about 30 ms. */
export const COUNTED_ATTEMPTS_MAX = 1_000
/** Sessions in a list of those that depend on one chain; a filter finds the others. */
export const DEPENDENTS_LISTED_MAX = 100
/** Time spans in one answer of statistics: more than a screen has columns. */
export const STATISTICS_BUCKETS_MAX = 500
/** The default range of statistics: a day. */
export const STATISTICS_RANGE_DEFAULT_SECONDS = 86_400
/**
 * The largest range of statistics: 31 days. At a million sessions a day, that is as much as can be counted within the
 * timeout.
 */
export const STATISTICS_RANGE_MAX_SECONDS = 2_678_400
/** Groups of failures in one answer: more than a person looks through. */
export const FAILURE_GROUPS_MAX = 100
/** Statistics that take longer are cancelled, so that a dashboard cannot occupy the database. */
export const STATISTICS_TIMEOUT_MS = 10_000
/** Characters of a search text: far more than names and labels have. */
export const SEARCH_LENGTH_MAX = 256
/**
 * Sessions, chains and decisions are counted up to this number: no user pages that far, and each counted row takes
 * time.
 */
export const COUNTED_ROWS_MAX = 10_000
export const NAME_LENGTH_MAX = 256
/** Nesting of filters; the next limit is the number of their conditions. */
export const FILTER_DEPTH_MAX = 5
export const FILTER_TERMS_MAX = 100
/** Days for which the key of a request is kept: longer than any client repeats it. */
export const CLIENT_KEY_KEPT_DAYS_MAX = 14
/** Nodes read by id in one request: as many as a page shows. */
export const NODES_MAX = 200
/** Values of one list in a filter. */
export const FILTER_LIST_MAX = 200
/** Sessions in one resubmission: a minute's work, and their list still fits into a request. */
export const RESUBMISSION_SESSIONS_MAX = 100_000
/**
 * Bytes that may be read for one answer. A page of logs has 6 MiB. A page of sessions could have 100 MiB of variables,
 * and building an answer of that size would block all other requests.
 */
export const ANSWER_BYTES_MAX = 16 * 1024 * 1024
/** Sessions that a dry run lists. */
export const DRY_RUN_SESSIONS_MAX = 100
/** Ids that one statement reads for a filter. */
export const SESSION_IDS_PER_READ_MAX = 5_000
/** Sessions, and refusals, shown in the answer of a resubmission; its items list all of them. */
export const RESUBMISSION_SHOWN_SESSIONS_MAX = 500
export const COMMAND_ARGUMENTS_MAX = 1_000
/** Bytes of a single argument or `NAME=value`: Linux refuses more than 128 KiB. */
export const ARGUMENT_BYTES_MAX = 131_071
/**
 * Bytes of the command. Linux allows 2 MiB for all strings that a program is started with: a quarter of the usual 8 MiB
 * stack, where each string takes 9 bytes more for its end and a pointer. 768 KiB are for the command, 1 MiB for the
 * session's variables, and 256 KiB for the variables that server, image and agent add.
 */
export const COMMAND_BYTES_MAX = 768 * 1024
export const ENVIRON_BYTES_MAX = 1024 * 1024
export const ADDED_ENVIRON_BYTES_MAX = 256 * 1024
/** The sum of these strings as Linux counts them, each with its end and a pointer. */
export const EXEC_BYTES_MAX = 2 * 1024 * 1024
/**
 * The part of EXEC_BYTES_MAX for the paths of the program and of an interpreter, at most 4 KiB each, and for what
 * shells add.
 */
export const EXEC_RESERVE_BYTES = 16 * 1024
export const ENVIRON_ENTRIES_MAX = 500
export const LABELS_MAX = 64
export const SLOTS_MAX = 32
export const SLOT_NAME_LENGTH_MAX = 64
/** Fraction digits of a slot amount: scheduling counts in billionths. */
export const SLOT_FRACTION_DIGITS_MAX = 9
/** Digits of one slot amount: a yottabyte in bytes has 25. */
export const AMOUNT_DIGITS_MAX = 30
/** Options of an executor: executors know about ten. */
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
/** Agents look for progress once a second. */
export const PROGRESS_TIMEOUT_SECONDS_MIN = 1
/** A year. */
export const MAX_PENDING_SECONDS_MAX = 31_536_000

/** Sessions in a limit of a quota: the most that the column holds. */
export const QUOTA_SESSIONS_MAX = 2_147_483_647

// Deployments: what clients may request
/** Deployments of one project that are not destroyed: service discovery lists all of them in one document. */
export const DEPLOYMENTS_PER_PROJECT_MAX = 1_000
/** Replicas of one deployment; each one is a session. */
export const REPLICAS_MAX = 1_000
/** Characters of a deployment's name. Proxies use it as a label of a host name, which has at most 63. */
export const DEPLOYMENT_NAME_LENGTH_MAX = 63
export const HEALTH_PATH_LENGTH_MAX = 2_048
/** The shortest check interval: ten checks of a replica per second. */
export const HEALTH_INTERVAL_MIN_MS = 100
export const HEALTH_INTERVAL_MAX_SECONDS = 3_600
export const HEALTH_TIMEOUT_MIN_MS = 50
export const HEALTH_TIMEOUT_MAX_SECONDS = 60
/** The most consecutive checks that a threshold may require. */
export const HEALTH_THRESHOLD_MAX = 100
/** A day: the longest time to wait for a start or an eviction, and the longest validity of a check. */
export const DEPLOYMENT_WAIT_MAX_SECONDS = 86_400
/** The longest drain: clients of a service need at most an hour for a request in progress. */
export const DRAIN_MAX_SECONDS = 3_600

// Retry
/** The longest delay in Airflow's settings: Python's longest timedelta. */
export const AIRFLOW_DELAY_SECONDS_MAX = 86_399_999_999_999
export const RETRIES_MAX = 100
export const UNCOUNTED_RETRIES_MAX = 100
/** Entries of a table of delays: one for each retry that a policy can have. */
export const DELAYS_MAX = 100
/** Finished sessions on which a policy is tried: enough to judge it, decided in well under a second. */
export const TRIED_SESSIONS_MAX = 2_000
/** Tried sessions that are listed in one response. */
export const TRIED_SESSIONS_LISTED_MAX = 100
/** Sessions that ended longer ago are tried only if their span is given. */
export const TRIAL_SPAN_DEFAULT_MS = 7 * 86_400_000
/** Chains that one backtest reads: a month of a large cluster; 100,000 take about 20 s on two busy cores. */
export const BACKTEST_CHAINS_MAX = 200_000
/** The span of a backtest unless another is given: 30 days. */
export const BACKTEST_SPAN_DEFAULT_MS = 30 * 86_400_000
/** Sessions whose chains are read at once. */
export const BACKTEST_BATCH_SESSIONS_MAX = 500
/** A chain with more attempts is not replayed, but counted as unknown. */
export const BACKTEST_ATTEMPTS_MAX = 300
/** Fewer comparable failures say nothing. */
export const BACKTEST_COMPARABLE_MIN = 5
/** Names of lost successes that a backtest lists. */
export const BACKTEST_NAMES_MAX = 50
/** Chains that a backtest gives as examples of one outcome. */
export const BACKTEST_EXAMPLES_MAX = 5
/** Backtests that one person runs at the same time; further ones wait. */
export const BACKTESTS_PER_PERSON_MAX = 1
/** Backtests that one server runs at the same time: they take turns on one event loop. */
export const BACKTESTS_AT_ONCE_MAX = 2
/** Backtests that wait for those of the same person: as many as a token may have requests in progress. */
export const BACKTESTS_WAITING_MAX = 16
/** How long a backtest waits for its turn. */
export const BACKTEST_WAIT_MAX_MS = 30_000
/** How often a backtest reports its progress. */
export const BACKTEST_PROGRESS_EVERY_MS = 250
export const RULES_MAX = 20
/** Exit codes and ranges in one list of a rule: as many codes as a Unix process can have. */
export const RULE_EXIT_CODES_MAX = 256
/**
 * Exit codes have the range of their column, because schedulers and wrappers have codes beyond the 0…255 of a process.
 */
export const EXIT_CODE_MIN = -2_147_483_648
export const EXIT_CODE_MAX = 2_147_483_647
/** Retries per second in a rate limit: far more than a server dispatches. */
export const RATE_LIMIT_RETRIES_MAX = 100_000
/**
 * The longest time between two retries of a rate limit: two days, so that a retry that waits for its token can still be
 * given a due time.
 */
export const RATE_LIMIT_PERIOD_MAX_SECONDS = 172_800
/** The hard ceiling of every retry delay: 24 hours. */
export const RETRY_DELAY_CEILING_MS = 86_400_000

// Verdicts of programs
/** Bytes of a program's verdict file: several times the longest reason that is kept. */
export const VERDICT_BYTES_MAX = 16 * 1024

// Logs
/** Log text kept per kernel. Of a longer log, the beginning and the end of each stream are kept. */
export const LOG_BYTES_PER_KERNEL_MAX = 16 * 1024 * 1024
/**
 * The beginning of a stream, which arrives while the kernel runs. If both streams are long, 4 MiB are left for their
 * ends.
 */
export const LOG_HEAD_BYTES_PER_STREAM_MAX = 6 * 1024 * 1024
/**
 * The size at which a stream's file on the agent's disk is cut: the part that is kept, and what is written until the
 * cut.
 */
export const LOG_FILE_CUT_BYTES = 20 * 1024 * 1024
/** Interval at which file sizes are checked: twenty times the duration of a check of 64 kernels. */
export const LOG_FILE_CHECK_MS = 100
/** The same interval while a file grows faster than checks cut it. */
export const LOG_FILE_FLOOD_CHECK_MS = 20
/**
 * The largest size of a stream's file, reached by a program that writes 300 MB/s: 43 MiB in the time of one and a half
 * checks.
 */
export const LOG_FILE_BYTES_MAX = 64 * 1024 * 1024
/** One chunk of a stream in an agent's sync. */
export const LOG_CHUNK_BYTES_MAX = 64 * 1024
/** All chunks in one sync of an agent. */
export const LOG_BYTES_PER_SYNC_MAX = 4 * 1024 * 1024
/** Log pieces that one statement reads, some 20 ms: a program may write each line separately. */
export const LOG_PIECES_PER_READ_MAX = 20_000

// Between servers
/**
 * Agents named in one hint to the other servers, 39 bytes each: PostgreSQL accepts 8,000 bytes. A hint about more
 * agents names none and means all.
 */
export const WAKE_AGENTS_PER_HINT_MAX = 140
/** Topics named in one hint, at most 52 bytes each. A hint about more topics names none and wakes all listeners. */
export const WAKE_TOPICS_PER_HINT_MAX = 40

// Subscriptions
/** Events queued for a slow subscriber before it gets a gap signal instead. */
export const SUBSCRIBER_QUEUE_EVENTS_MAX = 10_000
/** Events read from the outbox at once. */
export const RELAY_BATCH_EVENTS_MAX = 2_000
/** Subscriptions on one connection: more than one for each part of a user interface. */
export const SUBSCRIPTIONS_PER_CONNECTION_MAX = 200
/** Subscriptions of one token: twice as many subscribers as one server is designed for. */
export const SUBSCRIPTIONS_PER_TOKEN_MAX = 10_000
/** Unused download links of one browser: far more than a person clicks within a minute. */
export const DOWNLOAD_LINKS_PER_BROWSER_MAX = 16
/**
 * Login cookies that are checked in a request. One is ours; the others come from programs on other ports of the host.
 * Cookies that browsers may send after ours are for parent domains.
 */
export const SESSION_COOKIES_MAX = 4
/** Interval of heartbeats on an idle event stream: proxies close connections that are idle for a minute. */
export const STREAM_HEARTBEAT_MS = 12_000
/** The interval between messages of a subscription to changes. */
export const CHANGES_EVERY_MS = { default: 500, min: 100, max: 60_000 }
/** Ids of each kind in one message about changes: if more have changed, the client has to reload everything. */
export const CHANGED_IDS_MAX = 1_000
/**
 * Events of a subscription that are read together, with one statement per kind of data instead of one per event. In a
 * burst of 10,000 events with session and chain, the median lag is 0.7 s with 500, and twice that with 100.
 */
export const EVENTS_TOGETHER_MAX = 500
/** Events that one write to a subscriber's socket contains, if they need nothing from the database. */
export const EVENTS_SENT_TOGETHER_MAX = 100
/** Published events that are kept in memory, for subscribers that come back. */
export const RECENT_EVENTS_MAX = 2_000
/** Memory for results that several subscriptions may receive. */
export const SHARED_RESULTS_BYTES = 16 * 1024 * 1024
/** Subscribers that are written to before other work of the process has its turn. */
export const SUBSCRIBERS_PER_TURN_MAX = 200
/** How long a subscription relies on a check of its token by another one. */
export const TOKEN_CHECK_KEPT_MS = 250
/** Fields of events that are executed together, as counted in the document: some 50 ms of the event loop. */
export const EVENT_FIELDS_TOGETHER_MAX = 10_000
/**
 * Outbox events that one statement reads for a subscriber, whether they match or not: some 10 ms. So neither a filter
 * nor an old cursor makes a statement long.
 */
export const SCANNED_EVENTS_MAX = 10_000
/** Outbox events that are read, in several statements, for a page of past events or for their number: some 100 ms. */
export const PAGE_SCANNED_EVENTS_MAX = 100_000

// Webhooks
/** Interval at which the outbox is polled for events that webhooks subscribe to. */
export const WEBHOOK_FAN_OUT_INTERVAL_MS = 500
/** Events turned into deliveries in one transaction. */
export const WEBHOOK_FAN_OUT_EVENTS_MAX = 2_000
export const WEBHOOK_DELIVERY_INTERVAL_MS = 1_000
/** Concurrent delivery attempts of one server: each occupies a socket and a body of a few KiB. */
export const WEBHOOK_ATTEMPTS_AT_ONCE_MAX = 512
/**
 * An attempt without an answer for this long is slow: it no longer counts towards the next limit, but continues, and
 * its endpoint gets no other attempt meanwhile. So an endpoint that hangs delays only itself.
 */
export const WEBHOOK_PROMPT_MS = 1_000
/** Concurrent attempts of one server that are not slow yet. */
export const WEBHOOK_PROMPT_ATTEMPTS_AT_ONCE_MAX = 32
/**
 * Concurrent attempts of one server at failing endpoints that are not slow yet. So half of the places are left for
 * other endpoints, however many endpoints are dead.
 */
export const WEBHOOK_FAILING_ATTEMPTS_AT_ONCE_MAX = 16
/** Concurrent attempts of all servers at one endpoint; a failing endpoint gets one. */
export const WEBHOOK_ENDPOINT_ATTEMPTS_AT_ONCE_MAX = 4
/**
 * Concurrent attempts of all servers at the endpoints of one project: one for each endpoint, and some more; half of
 * them may go to failing endpoints. With many projects the limit is lower: each project may use an equal part of one
 * server's attempts, and one part always stays free.
 */
export const WEBHOOK_PROJECT_ATTEMPTS_AT_ONCE_MAX = 64
/** Time from the name lookup to the end of the TLS handshake. */
export const WEBHOOK_CONNECT_TIMEOUT_MS = 5_000
/** Duration of a whole attempt; Standard Webhooks recommends 15 to 30 s. */
export const WEBHOOK_ATTEMPT_TIMEOUT_MS = 20_000
/** Age at which an unrecorded attempt counts as interrupted by a crash. */
export const WEBHOOK_LEASE_MS = 60_000
/** How long a stopping server waits for attempts in progress. */
export const WEBHOOK_STOP_GRACE_MS = 3_000
/** The part of a response body that is read. */
export const WEBHOOK_RESPONSE_BYTES_MAX = 64 * 1024
/** The part of a response body that is kept for people. */
export const WEBHOOK_EXCERPT_BYTES_MAX = 1024
/** The longest pause that an endpoint may ask for by Retry-After. */
export const WEBHOOK_RETRY_AFTER_MAX_MS = 3_600_000
/** Attempts kept for one delivery: those of five schedules. */
export const WEBHOOK_ATTEMPTS_KEPT_MAX = 50
/** Deliveries are kept for 14 days, four times as long as a schedule lasts; nothing older is replayed. */
export const WEBHOOK_RETENTION_SECONDS = 1_209_600
export const WEBHOOK_RETENTION_INTERVAL_MS = 600_000
/** Deliveries deleted in one statement. */
export const WEBHOOK_RETENTION_BATCH_MAX = 1_000
/** Webhooks of one project; the same number again may exist for all projects together. */
export const WEBHOOKS_PER_PROJECT_MAX = 50
export const WEBHOOK_URL_LENGTH_MAX = 2_048
export const WEBHOOK_EVENT_TYPES_MAX = 32
/** Time after a rotation during which both secrets sign: a day. */
export const WEBHOOK_SECRET_OVERLAP_SECONDS_DEFAULT = 86_400
export const WEBHOOK_SECRET_OVERLAP_SECONDS_MAX = 604_800
/** Deliveries in one replay. */
export const WEBHOOK_REPLAY_MAX = 10_000
/** Resource groups to which one agent token is bound. */
export const GROUPS_OF_TOKEN_MAX = 100

// Schedules
/** How often schedules are checked without a wake-up: one statement if none is due. */
export const SCHEDULE_INTERVAL_MS = 2_000
/** Interval at which it is checked whether the chain that a queued run waits for has ended. */
export const SCHEDULE_WAIT_CHECK_MS = 500
/** Schedules whose runs are made in one transaction. */
export const SCHEDULE_BATCH_MAX = 100
/** Schedules of one project. */
export const SCHEDULES_PER_PROJECT_MAX = 1_000
export const SCHEDULE_CRON_LENGTH_MAX = 200
/** The shortest interval: servers cannot reasonably check more often. */
export const SCHEDULE_EVERY_SECONDS_MIN = 1
export const SCHEDULE_EVERY_SECONDS_MAX = 366 * 86_400
/** An hour: a cron expression that matches every minute then has at most 60 runs that wait for their jitter. */
export const SCHEDULE_JITTER_SECONDS_MAX = 3_600
export const SCHEDULE_CATCH_UP_MAX = 100
/**
 * Delay after which a run that could not be started is late; late runs are started only as far as the catch-up allows.
 */
export const SCHEDULE_LATE_AFTER_SECONDS = 60
/**
 * Planned times that may be neither late nor in the future: one per second until they are late, or an hour's jitter.
 */
export const SCHEDULE_ON_TIME_MAX = 62
/** Missed runs that are counted exactly; computing a time takes 0.1 ms. */
export const SCHEDULE_MISSED_COUNTED_MAX = 100
/** Queued runs of one schedule. */
export const SCHEDULE_QUEUE_MAX = 100
/** Next runs shown for one schedule: each takes 0.1 ms to compute. */
export const SCHEDULE_NEXT_RUNS_MAX = 20
/** Last runs shown with a schedule. */
export const SCHEDULE_LAST_RUNS_MAX = 100

// Channels: commands and connections into kernels
/** Channels of one session on one server: a person's terminals, and a browser's connections to a notebook. */
export const CHANNELS_PER_SESSION_MAX = 64
/** Channels of one server: each has two sockets and at most four windows of data. */
export const CHANNELS_PER_SERVER_MAX = 1_000
/** Channels of one agent, even if servers request more. */
export const CHANNELS_PER_AGENT_MAX = 256
/** Bytes in one direction that are not yet confirmed: the most that a slow reader makes the other side buffer. */
export const CHANNEL_WINDOW_BYTES = 256 * 1024
/** Data bytes of one message. */
export const CHANNEL_CHUNK_BYTES_MAX = 32 * 1024
/** Bytes of one message: an escaped request with the longest command fits. */
export const CHANNEL_MESSAGE_BYTES_MAX = 1024 * 1024
/** Bytes of a command's words together. */
export const CHANNEL_COMMAND_BYTES_MAX = 128 * 1024
export const CHANNEL_COMMAND_WORDS_MAX = 1_024
/** Characters of a command in the audit log. */
export const CHANNEL_COMMAND_NOTED_LENGTH_MAX = 4_096
/** Time in which a client must send its request. */
export const CHANNEL_REQUEST_WITHIN_MS = 10_000
/** Time in which the agent must open a channel: its current poll, and several attempts to reach the server. */
export const CHANNEL_OPENED_WITHIN_MS = 20_000
/**
 * Interval of pings. A peer that has not answered a ping when the next is due counts as gone. The interval is shorter
 * than the idle timeouts of proxies.
 */
export const CHANNEL_PING_INTERVAL_MS = 12_000
/** Time without a byte in either direction after which a channel is closed as a forgotten terminal. */
export const CHANNEL_IDLE_MS = 3_600_000
export const CHANNEL_LIFETIME_MS = 24 * 3_600_000
/** Time between the hang-up of a command whose client has left and its SIGKILL. */
export const CHANNEL_GRACE_MS = 5_000
export const TERMINAL_SIDE_MAX = 1_000

/**
 * Bytes of a checkpoint's archive that is relayed through the servers; a larger checkpoint belongs in a store that
 * agents share.
 */
export const RELAY_BYTES_DEFAULT = 1024 ** 3
export const RELAY_CEILING_BYTES = 1024 ** 4
/** Files, directories and links in such an archive. */
export const RELAY_ENTRIES_MAX = 20_000
/**
 * Time that a relay may go without progress. At a kernel's end, the end is already recorded, but the next attempt waits
 * for the relay.
 */
export const RELAY_WITHIN_MS = 120_000
/** Interval at which running programs are checked for a wish to publish: one `lstat` each. */
export const PUBLISH_LOOK_MS = 1_000
/**
 * Pause between two copies of a chain, unless the last copy took longer; then its duration. So copying takes at most
 * half of the time.
 */
export const PUBLISH_PAUSE_MS = 5_000
/** Concurrent snapshots of one agent. */
export const PUBLISH_AT_ONCE_MAX = 2

// Waits of REST
/** The longest wait that one request may ask for. */
export const WAIT_MAX_SECONDS = 60
/** After this time it is answered in any case: proxies, and this server, cut connections without a byte in 60 s. */
export const WAIT_ANSWERED_WITHIN_SECONDS = 50
/** Sessions for whose ends one request waits. */
export const WAITED_SESSIONS_MAX = 1_000
/** Chains or groups that one statement looks at. */
export const WAITED_ENDS_PER_LOOK_MAX = 5_000

// Groups of sessions
/** Members that one call creates. All are created in one transaction. */
export const GROUP_MEMBERS_PER_CALL_MAX = 10_000
/** Members of a group, so that its page and its end stay cheap. */
export const GROUP_MEMBERS_MAX = 1_000_000
/** The number of a member. */
/** Groups that one group may wait for. */
export const GROUP_DEPENDENCIES_MAX = 16
export const GROUP_INDEX_MAX = 999_999_999
export const GROUP_KEY_LENGTH_MAX = 200
/** Length of the indexes of one call, each with up to nine digits and a comma. */
export const GROUP_INDEXES_LENGTH_MAX = 10 * GROUP_MEMBERS_PER_CALL_MAX
/** Members whose states one request reads, a letter each. */
export const GROUP_STATES_MAX = 10_000
/** Members that REST lists in one response, each with its end. */
export const GROUP_MEMBERS_LISTED_MAX = 1_000
/** Ranges into which one request cuts the members of a group. */
export const GROUP_RANGES_MAX = 1_000
/** Changes of counts that one pass adds up. */
export const GROUP_CHANGES_BATCH_MAX = 2_000
/** Members of a decided group that are ended in one transaction. */
export const GROUP_REST_BATCH_MAX = 200
/** Failed members that the event of a group's end names. */
export const GROUP_FAILURES_NAMED_MAX = 5

// Outputs
export const OUTPUT_PATTERNS_MAX = 64
/** Sessions whose outputs are removed in one transaction, each with many files. */
export const RETENTION_BATCH_OUTPUTS_MAX = 20
export const OUTPUT_PATTERN_LENGTH_MAX = 512
/** Files and links in the outputs of one attempt. */
export const OUTPUT_FILES_MAX = 100_000
/** Bytes of one path: two of them fit into an entry of an index. */
export const OUTPUT_PATH_BYTES_MAX = 1_024
export const OUTPUT_DEPTH_MAX = 64
/** Bytes of the outputs of one attempt, unless a quota sets less. */
export const OUTPUT_BYTES_DEFAULT = 1024 ** 4
/** Length of the path of a directory in which outputs stay. */
export const OUTPUT_DIRECTORY_LENGTH_MAX = 4_096
/** Names in the working directory that an agent visits to find outputs. */
export const OUTPUT_ENTRIES_VISITED_MAX = 1_000_000
/** Files in one report of an agent: below 1 MiB even with long paths. */
export const OUTPUT_PAGE_FILES_MAX = 500
/** Bytes of such a report: characters of a path may be escaped. */
export const OUTPUTS_REPORT_BYTES_MAX = 8 * 1024 * 1024
/** Reasons that are stored; the last one counts the others. */
export const OUTPUT_REASONS_MAX = 20
/** Names of the working directory in the reason that no file matches. */
export const OUTPUT_NAMES_SHOWN_MAX = 10
/** Days for which outputs can be kept: ten years. */
export const OUTPUT_KEEP_DAYS_MAX = 3_650
/** Bytes of a file that clients can read as text with its name. */
export const OUTPUT_TEXT_BYTES_MAX = 64 * 1024
/** Attempts whose outputs one agent collects at a time. */
export const OUTPUTS_AT_ONCE_MAX = 2
/** Files that an agent sends at a time. */
export const OUTPUT_FILES_AT_ONCE_MAX = 8
/** Blobs in one question of an agent. */
export const OUTPUT_HASHES_ASKED_MAX = 1_000
/** Interval at which an agent reports that it still has files to send. */
export const OUTPUTS_HEARD_INTERVAL_MS = 60_000
/** An agent asks this often whether outputs that stay in place are still wanted. */
export const OUTPUTS_IN_PLACE_ASKED_INTERVAL_MS = 3_600_000
/** Outputs that stay in place are removed once the servers have not known their session for this long. */
export const OUTPUTS_UNKNOWN_KEPT_MS = 7 * 86_400_000
/** Outputs count as lost if their agent answers, but has not mentioned them for this long. */
export const OUTPUTS_LOST_AFTER_MS = 900_000
/** Other sessions whose outputs a session can receive. */
export const INPUTS_MAX = 100

/** Failed attempts whose groups are found in one transaction. Fewer at a time slow a burst of failures down. */
export const FAILURES_BATCH_MAX = 500
/** How long failures are collected while more come: the decisions that they wait for come first. */
export const FAILURES_GATHERED_MS = 500
/** Of these, or of their names, those whose logs are in memory at the same time. */
export const FAILURES_DESCRIBED_AT_ONCE_MAX = 50
/** The end of a failed attempt's log that is searched for what it says. */
export const FAILURE_LOG_BYTES = 64 * 1024
/** The end of a successful run's log that is searched for lines that failures print, too. */
export const USUAL_LOG_BYTES = 256 * 1024
/** Successful runs of one name that are read at once, and that are remembered. */
export const USUAL_RUNS_READ_MAX = 3
export const USUAL_RUNS_KEPT_MAX = 8
/** The span over which failures are grouped unless another is given: 30 days. */
export const FAILURE_SPAN_DEFAULT_MS = 30 * 86_400_000
/** Failures that a filter can select; the newest are taken. */
export const FILTERED_FAILURES_MAX = 50_000
/** Agents and images that are named for a group of failures. */
export const FAILURE_PLACES_MAX = 5
/** Equal parts of the span for which failures are counted. */
export const FAILURE_PARTS_MAX = 24
export const FAILURE_GROUPS_MERGED_MAX = 100
/** How long after a change of masks failures are also recognised by those before. */
export const FORMER_MASKS_KEPT_MS = 30 * 86_400_000
/** Rules of a project for its failures, and the length of their patterns: the worst take 15 ms for the worst lines. */
export const FAILURE_RULES_MAX = 30
export const FAILURE_PATTERN_LENGTH_MAX = 100
/** Groups of failures of a project, those that occurred last, among which similar ones are searched: 4 ms of CPU time. */
export const SIMILAR_CANDIDATES_MAX = 200
/** Similar groups that are suggested for a merge: people look at the most similar ones only. */
export const SIMILAR_GROUPS_MAX = 3
/** The percentage of common words from which on two groups are suggested for a merge: one of four words may differ. */
export const SIMILARITY_PERCENT_MIN = 75
/** The beginning of a log that is compared with another one: masking the worst two takes a quarter of a second. */
export const COMPARED_LOG_BYTES = 256 * 1024
export const COMPARED_LOG_PIECES_MAX = 5_000
/** Attempts whose figures are summed up in one transaction, and how often that is done. */
export const FIGURES_BATCH_MAX = 2_000
export const FIGURES_INTERVAL_MS = 5_000
/** The span of figures unless another is given: 30 days. */
export const FIGURE_SPAN_DEFAULT_MS = 30 * 86_400_000
/** Groups of figures in one answer, those that cost most: unless the client asks for more, and at most. */
export const FIGURE_GROUPS_DEFAULT = 100
export const FIGURE_GROUPS_MAX = 1_000
/** Advice is looked for this often, in attempts of this span; the newest ones of a project if there are more. */
export const ADVICE_INTERVAL_MS = 3_600_000
export const ADVICE_SPAN_MS = 30 * 86_400_000
export const ADVICE_ATTEMPTS_MAX = 50_000
export const ADVICE_BATCH_ATTEMPTS_MAX = 1_000
/** The most findings that one answer has; those that waste most come first. */
export const ADVICE_MAX = 100
/** Advice that is no longer found is forgotten after this time, also that it was dismissed. */
export const ADVICE_KEPT_MS = 90 * 86_400_000
/** How often servers ask whether it is time to look. */
export const ADVICE_CHECK_INTERVAL_MS = 60_000
/** How often a server looks for projects whose week has not been summed up, and for how many at once. */
export const WEEKLY_SUMMARIES_INTERVAL_MS = 60_000
export const WEEKLY_SUMMARIES_BATCH_MAX = 100
/** A week is summed up this long after its end, when its last attempts have been decided and added to the figures. */
export const WEEKLY_SUMMARIES_AFTER_MS = 600_000
/** Groups of failures in a weekly summary, those that cost most. */
export const WEEKLY_FAILURE_GROUPS_MAX = 5
/** For how long it is known which weeks have been summed up: only the last one is ever asked about. */
export const WEEKLY_SUMMARIES_KEPT_MS = 90 * 86_400_000
/** For how long sums of figures are kept: five years. */
export const FIGURES_KEPT_MS = 1_826 * 86_400_000
/** Windows up to this length are exact, with figures for each hour; longer ones are rounded to days. */
export const FIGURE_SPAN_EXACT_MS = 3 * 86_400_000
/** New groups of failures that a project gets in a day. Further ones share one group. */
export const FAILURE_GROUPS_PER_DAY_MAX = 1_000
