import { join } from 'node:path'
import { readBeginning, statIfThere } from '../../control-file.ts'
import { splitOnce } from '../kernels/shim-status.ts'

/** One job, or one task of an array, as `squeue` shows it. */
export interface JobRow {
  /** Does not identify the job by itself: Slurm may reuse the id of a job that it has lost. See `key`. */
  jobId: string
  /** The id for `scancel`. For a task of an array, it consists of the array's id and the task's number: `8_3`. */
  cancelId: string
  name: string
  uid: number
  /** Identifies the job; see rowKey. */
  key: string
  state: string
  reason: string
  /** First node, or empty. */
  node: string
  /** For a waiting job, when Slurm expects to start it, in Slurm's time zone; null if it does not report that. */
  start: string | null
  restarts: number
  comment: string
}

/** The columns, in their order. The comment comes last, because it is the only one that may contain a `|`. */
const COLUMNS = [
  'JobID',
  'JobArrayID',
  'Name',
  'UserID',
  'ArrayTaskID',
  'State',
  'Reason',
  'NodeList',
  'StartTime',
  'RestartCnt',
  'Comment',
]

/**
 * Format of the listing. `:|` puts a `|` behind each value and cuts no value off; without it, columns are 20 characters
 * wide.
 */
export const SQUEUE_FORMAT = COLUMNS.map((name) => `${name}:|`).join()

/** @throws if a line has another format. The list is then not complete, so no job may be taken for missing */
export function parseSqueue(text: string): JobRow[] {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map(parseLine)
}

function parseLine(line: string): JobRow {
  const [jobId, cancelId, name, user, task, state, reason, nodes, start, restarts, ...comment] = line.split('|')
  if (
    !jobId ||
    !cancelId ||
    !name ||
    !/^\d+$/.test(user ?? '') ||
    !state ||
    reason === undefined ||
    restarts === undefined ||
    comment.length === 0
  ) {
    throw new Error(`squeue answers with a line of another format: ${line.slice(0, 200)}`)
  }
  return {
    jobId,
    cancelId,
    name,
    uid: Number(user),
    key: rowKey(Number(user), name, task === undefined || task === 'N/A' ? null : task),
    state,
    reason: reason === 'None' ? '' : reason,
    node: firstNode(nodes ?? ''),
    start: start === undefined || !/^\d{4}-/.test(start) ? null : start,
    restarts: Number.parseInt(restarts, 10) || 0,
    comment: comment.join('|').replace(/\|$/, ''),
  }
}

/** Combines user and name, and for a task of an array also its number. */
export function rowKey(uid: number, name: string, task: string | number | null): string {
  return `${uid} ${name}${task === null ? '' : `_${task}`}`
}

/** Returns the first node of a list: `n[3-5,8]` becomes `n3`, and `a,b[1-2]` becomes `a`. */
export function firstNode(list: string): string {
  const bracket = list.indexOf('[')
  const comma = list.indexOf(',')
  if (bracket < 0 || (comma >= 0 && comma < bracket)) return comma < 0 ? list : list.slice(0, comma)
  const first = /^[0-9]+/.exec(list.slice(bracket + 1))?.[0] ?? ''
  return list.slice(0, bracket) + first
}

/** Returns whether a job in this state of Slurm has ended. */
export function isJobOver(state: string): boolean {
  return /^(BOOT_FAIL|CANCELLED|COMPLETED|DEADLINE|FAILED|NODE_FAIL|OUT_OF_MEMORY|PREEMPTED|TIMEOUT|REVOKED)/.test(
    state,
  )
}

/**
 * The content of a Slurm kernel's `status`. Its writers are `job.sh`, its keeper and a claiming agent. A line counts
 * once its newline is written.
 */
export interface JobStatus {
  /** The file exists. It is created only once, so no other job runs the command. */
  claimed: boolean
  /** The command never runs: an agent created the file before the job did, or the job found an order to stop. */
  never: boolean
  began: { jobId: string; node: string } | null
  /** Null before the line `exit`. */
  exitCode: number | null
  /** How long the command ran, by its node's uptime. Null until it has ended, and for jobs of older versions. */
  ranSeconds: number | null
  /** The lack of memory has killed a process of the job, as far as its cgroup counts that. */
  oomKilled: boolean
  /** The keeper has begun to carry out a stop. */
  stopping: boolean
  /** A signal from Slurm, or from a person, reached the job while the command ran, and was passed on to the command. */
  signalled: boolean
  /** The keeper has begun to end the command, because the agent's lease had expired. */
  fenced: boolean
  /** The keeper has ended all processes of the kernel, because the agent's lease had expired. */
  killed: boolean
}

export const NO_STATUS: JobStatus = {
  claimed: false,
  never: false,
  began: null,
  exitCode: null,
  ranSeconds: null,
  oomKilled: false,
  stopping: false,
  signalled: false,
  fenced: false,
  killed: false,
}

/** Only this much is read, because a program may have replaced the file by a large one. */
const STATUS_BYTES_MAX = 64 * 1024

/**
 * Reads the status from the kernel's directory. If the kernel's program has removed `status`, or has replaced it by
 * something that cannot be read, the last reading remains valid. Without an earlier reading, the kernel counts as
 * claimed if anything has that name.
 *
 * @param names all names in the directory, if known; other files are then not searched for
 */
export function readJobStatus(
  { outputPath }: { outputPath: string },
  before: JobStatus = NO_STATUS,
  names: readonly string[] | null = null,
): JobStatus {
  const path = join(outputPath, 'status')
  const isThere = names === null || names.includes('status')
  const text = isThere ? readBeginning(path, STATUS_BYTES_MAX) : null
  if (text !== null) return parseJobStatus(text)
  if (before.claimed) return before
  return isThere && statIfThere(path) !== null ? { ...NO_STATUS, claimed: true } : NO_STATUS
}

/** @param text null if there is no such file */
export function parseJobStatus(text: string | null): JobStatus {
  if (text === null) return NO_STATUS
  const status: JobStatus = { ...NO_STATUS, claimed: true }
  for (const line of text.split('\n').slice(0, -1)) {
    const [word, rest] = splitOnce(line)
    if (word === 'never' || word === 'failed') status.never = true
    if (word === 'began') status.began = parseBegan(rest)
    if (word === 'exit' && /^\d{1,3}$/.test(rest)) status.exitCode = Number(rest)
    if (word === 'ran') status.ranSeconds = parseRan(rest)
    if (word === 'oom') status.oomKilled = true
    if (word === 'stopping') status.stopping = true
    // After the command's end, a signal has no effect on it.
    if (word === 'signalled' && status.exitCode === null) status.signalled = true
    if (word === 'ending' || word === 'killed') status.fenced = true
    if (word === 'killed') status.killed = true
  }
  return status
}

function parseRan(text: string): number | null {
  const [, from, to] = /^(\d{1,12}\.\d\d) (\d{1,12}\.\d\d)$/.exec(text) ?? []
  return from === undefined ? null : Math.max(0, Number(to) - Number(from))
}

function parseBegan(text: string): { jobId: string; node: string } {
  const [jobId, node] = splitOnce(text)
  return { jobId: /^[0-9_]+$/.test(jobId) ? jobId : '', node: /^[A-Za-z0-9_.-]*$/.test(node) ? node : '' }
}
