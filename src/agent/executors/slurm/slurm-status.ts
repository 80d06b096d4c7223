import { join } from 'node:path'
import { readBeginning, statIfThere } from '../../control-file.ts'
import { splitOnce } from '../kernels/shim-status.ts'

/** One job, or one task of an array, as `squeue` shows it. */
export interface JobRow {
  /** To be shown only: Slurm gives ids of jobs that it has lost to others. */
  jobId: string
  /** The same for `scancel`, which knows a task that waits by its array. */
  cancelId: string
  name: string
  uid: number
  /** By it jobs are recognised; see rowKey. */
  key: string
  state: string
  reason: string
  /** First node, or empty. */
  node: string
  /** Of a job that waits: when Slurm expects to start it, in its own time zone; null where it does not say. */
  start: string | null
  restarts: number
  comment: string
}

/** In the order of the columns. The comment is the last, since only it may hold a bar. */
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

/** `:|` puts a bar behind each value and cuts none off; without it columns are 20 characters wide. */
export const SQUEUE_FORMAT = COLUMNS.map((name) => `${name}:|`).join()

/** @throws if a line is not of that format: what it would have said is then not known, so nothing may be concluded */
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

/** User and name, and of an array's task its number. */
export function rowKey(uid: number, name: string, task: string | number | null): string {
  return `${uid} ${name}${task === null ? '' : `_${task}`}`
}

/** `n[3-5,8]` is `n3`, and `a,b[1-2]` is `a`. */
export function firstNode(list: string): string {
  const bracket = list.indexOf('[')
  const comma = list.indexOf(',')
  if (bracket < 0 || (comma >= 0 && comma < bracket)) return comma < 0 ? list : list.slice(0, comma)
  const first = /^[0-9]+/.exec(list.slice(bracket + 1))?.[0] ?? ''
  return list.slice(0, bracket) + first
}

/** @param state Slurm's word */
export function isJobOver(state: string): boolean {
  return /^(BOOT_FAIL|CANCELLED|COMPLETED|DEADLINE|FAILED|NODE_FAIL|OUT_OF_MEMORY|PREEMPTED|TIMEOUT|REVOKED)/.test(
    state,
  )
}

/**
 * What `status` says of a kernel in Slurm. Its writers are `job.sh`, its keeper and a claiming agent; a line counts once
 * its newline is written.
 */
export interface JobStatus {
  /** Somebody has created it: no other job runs the command. */
  claimed: boolean
  /** The claim was an agent's: the command never runs. */
  never: boolean
  began: { jobId: string; node: string } | null
  /** Null until `exit` is there. */
  exitCode: number | null
  /** For how long the command ran, by its node's uptime; null until it has ended, and of jobs of older versions. */
  ranSeconds: number | null
  /** The keeper has begun to carry out a stop. */
  stopping: boolean
  /** A signal of Slurm's or somebody's reached the job, and was passed on to the command. */
  signalled: boolean
  /** The keeper has begun to end it, since its lease had run out. */
  fenced: boolean
  /** The keeper has ended all of it. */
  killed: boolean
}

export const NO_STATUS: JobStatus = {
  claimed: false,
  never: false,
  began: null,
  exitCode: null,
  ranSeconds: null,
  stopping: false,
  signalled: false,
  fenced: false,
  killed: false,
}

/** A program may have made anything of it since. */
const STATUS_BYTES_MAX = 64 * 1024

/**
 * What a look at its directory shows. Where its program has taken `status` away, or put something else in its place,
 * what was last read stands; before that, it counts as claimed.
 *
 * @param names all that are in there, if that is known: what is not among them is not asked for
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
    if (word === 'stopping') status.stopping = true
    // After its end, nothing is left that could get it.
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
