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
