import type { FailureError } from '../session/failure.ts'
import { isTerminal, type KernelStatus } from '../session/lifecycle.ts'
import type { ProgramVerdict } from '../session/program-verdict.ts'
import type { FoundCheckpoint, LeftCheckpoint } from './checkpoint.ts'
import type { Gpu, GpuUsage } from '../gpu.ts'
import type { KernelUsage } from './kernel-report.ts'
import type { ObservedKernel } from './protocol.ts'

/** A kernel as recorded in the database: assigned to the reporting agent, or named in its report. */
export interface RecordedKernel {
  id: string
  agentId: string | null
  assignment: number
  status: KernelStatus
  confirmedGone: boolean
  failed: boolean
  startedAt: string | null
  exitCode: number | null
  /** Null until its agent reports it. */
  inTime: boolean | null
  /** False if its session's policy ignores the lack of memory once the program exits with 0. Missing means true. */
  oomIsFailure?: boolean
  /** Whether nothing may start it again once its start was ordered. Missing means false. */
  neverRunTwice?: boolean
  /** The agent's last note; see KernelProgress. */
  note: string | null
  waits: boolean
  host: string | null
  slurmJobId: string | null
  /** Null until its agent reports them. Missing means null. */
  gpus?: readonly { uuid: string }[] | null
  gpuUsage?: GpuUsage | null
  /** Missing means null. */
  progress?: string | null
}

/** A kernel's progress before it runs, and where it runs. */
export interface KernelProgress {
  /** For people; null once the kernel runs. */
  note: string | null
  /** Another scheduler has queued the kernel, so no timeout applies to the wait. */
  waits: boolean
  host: string | null
  slurmJobId: string | null
}

/** A change to a recorded kernel; written only while the kernel has this assignment and is in `from`. */
export interface KernelChange extends KernelProgress {
  id: string
  assignment: number
  from: KernelStatus
  to: KernelStatus
  started: boolean
  ended: boolean
  gone: boolean
  exitCode: number | null
  oomKilled: boolean
  /** The kernel ended because it was ordered to, so its end does not affect the session's result. */
  stopped: boolean
  /** Set when the program has ended or has run for longer than its time limit; null keeps the recorded value. */
  inTime: boolean | null
  error: FailureError | null
  /** Set when the kernel starts to run; later reports do not change it. */
  port: number | null
  /** Set when it ends. */
  usage: KernelUsage | null
  /** Null keeps the recorded value. */
  gpus: Gpu[] | null
  gpuUsage: GpuUsage | null
  /** The last line of its program's progress file; null keeps the recorded one. */
  progress: string | null
  /** Set when it starts. */
  foundCheckpoint: FoundCheckpoint | null
  /** Set when all processes of the kernel are gone. */
  leftCheckpoint: LeftCheckpoint | null
  /** Whether the agent will send outputs for which the session did not ask. Set when the kernel ends. */
  leftOutputs: boolean
}

export interface Reconciliation {
  changes: KernelChange[]
  orders: { kernelId: string; assignment: number; want: 'PREPARE' | 'START' | 'STOP' }[]
  forget: { kernelId: string; assignment: number }[]
  /**
   * Reports that contradict the recorded end. The only effect that they can have is to confirm that the kernel is gone.
   */
  stale: { kernelId: string; status: string }[]
}

/**
 * Compares an agent's report with the recorded state of its kernels. Pure and level-triggered: after its changes were
 * written, the same report causes no further change.
 *
 * @param digests the image digests that kernels must have, for the kernels in this report
 */
export function reconcile(
  agentId: string,
  booked: readonly RecordedKernel[],
  observed: readonly ObservedKernel[],
  digests: ReadonlyMap<string, string> = new Map(),
): Reconciliation {
  const answer: Reconciliation = { changes: [], orders: [], forget: [], stale: [] }
  const bookedById = new Map(booked.map((kernel) => [kernel.id, kernel]))
  const seen = new Set<string>()
  for (const reported of observed) {
    const kernel = bookedById.get(reported.kernelId)
    if (!kernel || kernel.agentId !== agentId || kernel.assignment !== reported.assignment) {
      // If this is an older assignment of a kernel that is still assigned here, the order for the new one replaces it.
      answer.forget.push({ kernelId: reported.kernelId, assignment: reported.assignment })
      continue
    }
    const report = withoutOtherImage(kernel, reported, digests.get(kernel.id), answer)
    seen.add(kernel.id)
    if (isTerminal(kernel.status)) {
      late(kernel, report, answer)
      continue
    }
    const change = withFigures(kernel, report, withProgress(kernel, report, changeFor(kernel, report)))
    if (change) answer.changes.push(change)
    order(change ? { ...kernel, status: change.to } : kernel, report, answer)
  }
  for (const kernel of booked) if (!seen.has(kernel.id) && kernel.agentId === agentId) missing(kernel, answer)
  return answer
}

/**
 * Treats a kernel as unprepared if it was prepared with another image than its session's: the tag moved between two of
 * the session's agents.
 */
function withoutOtherImage(
  { id: kernelId, assignment, status, failed: hasFailed }: RecordedKernel,
  report: ObservedKernel,
  digest: string | undefined,
  { orders }: Reconciliation,
): ObservedKernel {
  if (report.status !== 'PREPARED' || digest === undefined || !isOtherImage(report, digest)) return report
  if (!hasFailed && PREPARES.includes(status)) orders.push({ kernelId, assignment, want: 'PREPARE' })
  return {
    ...report,
    status: 'PREPARING',
    progress: 'its session runs another image by now',
    waiting: null,
    starting: false,
  }
}

function isOtherImage({ imageDigest }: ObservedKernel, digest: string): boolean {
  return imageDigest != null && imageDigest !== digest
}

const PREPARES: readonly KernelStatus[] = ['PREPARING', 'PULLING', 'PREPARED']

function late(kernel: RecordedKernel, report: ObservedKernel, answer: Reconciliation): void {
  const { id: kernelId, assignment, confirmedGone } = kernel
  // The reported end is recorded. Once the agent forgets the kernel, its absence proves that the kernel is gone.
  if (mayStillRun(report) && !confirmedGone) return
  const isOver = report.status === 'EXITED' || report.status === 'FAILED'
  const isAwaited = !confirmedGone && report.status === 'EXITED' && report.exitCode === kernel.exitCode
  if (!isAwaited) answer.stale.push({ kernelId, status: report.status })
  // The kernel's agent is back after a loss or a restart and does not yet report the end: it still has to end the kernel.
  if (!isOver && !confirmedGone) return void answer.orders.push({ kernelId, assignment, want: 'STOP' })
  answer.forget.push({ kernelId, assignment })
  // Until it was gone, the kernel may have stored something newer than the chain's record.
  if (!confirmedGone) answer.changes.push({ ...confirmGone(kernel), leftCheckpoint: report.leftCheckpoint ?? null })
}

function mayStillRun({ status, gone }: ObservedKernel): boolean {
  return status === 'EXITED' && gone === false
}

function changeFor(kernel: RecordedKernel, report: ObservedKernel): KernelChange | undefined {
  const change = unchanged(kernel)
  switch (report.status) {
    case 'PREPARING':
      return undefined
    case 'PULLING':
      return kernel.status === 'PREPARING' ? { ...change, to: 'PULLING' } : undefined
    case 'PREPARED':
      return kernel.status === 'PREPARING' || kernel.status === 'PULLING' ? { ...change, to: 'PREPARED' } : undefined
    case 'RUNNING':
      if (kernel.status === 'CREATING') return started(report, change)
      return outOfTime(kernel, report, change)
    case 'FAILED':
      return failed(kernel, report, change)
    case 'EXITED':
      return exited(kernel, report, change)
  }
}

/** @returns undefined if nothing about the kernel has changed */
function withProgress(
  kernel: RecordedKernel,
  report: ObservedKernel,
  change: KernelChange | undefined,
): KernelChange | undefined {
  const progress = progressOf(kernel, report)
  const isSame = (['note', 'waits', 'host', 'slurmJobId'] as const).every((name) => progress[name] === kernel[name])
  return change === undefined && isSame ? undefined : { ...(change ?? unchanged(kernel)), ...progress }
}

/** Adds the kernel's GPUs, what it has used of them, and the progress that its program tells. */
function withFigures(
  kernel: RecordedKernel,
  report: ObservedKernel,
  change: KernelChange | undefined,
): KernelChange | undefined {
  const uuids = (gpus: RecordedKernel['gpus']) => (gpus ?? []).map(({ uuid }) => uuid).join()
  const gpus = report.gpus != null && uuids(report.gpus) !== uuids(kernel.gpus) ? report.gpus : null
  const gpuUsage = report.gpuUsage != null && !isSameUsage(report.gpuUsage, kernel.gpuUsage) ? report.gpuUsage : null
  const told = report.progressLine ?? null
  const progress = told === (kernel.progress ?? null) ? null : told
  if (gpus === null && gpuUsage === null && progress === null) return change
  // The notes of a change that does not exist are those on record.
  return { ...(change ?? { ...unchanged(kernel), ...progressOf(kernel, report) }), gpus, gpuUsage, progress }
}

function isSameUsage(one: GpuUsage, other: GpuUsage | null = null): boolean {
  if (other === null) return false
  return (Object.keys(one) as (keyof GpuUsage)[]).every((name) => one[name] === other[name])
}

/** A kernel whose start is ordered but delayed is reported as PREPARED. */
const BEFORE_IT_RUNS: readonly ObservedKernel['status'][] = ['PREPARING', 'PULLING', 'PREPARED']

function progressOf(kernel: RecordedKernel, report: ObservedKernel): KernelProgress {
  const waiting = report.status === 'PREPARED' ? (report.waiting ?? null) : null
  const prepares = BEFORE_IT_RUNS.includes(report.status)
  return {
    note: waiting?.reason ?? (prepares ? (report.progress ?? null) : null),
    waits: waiting !== null && kernel.status === 'CREATING',
    // An agent that has just restarted may not know these values yet.
    host: report.host ?? kernel.host,
    slurmJobId: report.slurmJobId ?? kernel.slurmJobId,
  }
}

/**
 * Records `inTime` of a kernel that has to stop. The stop may be due to its time limit, and the report shows whether the
 * kernel has really exceeded it.
 */
function outOfTime(kernel: RecordedKernel, report: ObservedKernel, change: KernelChange): KernelChange | undefined {
  const inTime = report.inTime ?? null
  if (kernel.status !== 'TERMINATING' || inTime === null || inTime === kernel.inTime) return undefined
  return { ...change, inTime }
}

function started({ port, foundCheckpoint = null }: ObservedKernel, change: KernelChange): KernelChange {
  return { ...change, to: 'RUNNING', started: true, port, foundCheckpoint }
}

/**
 * Records a kernel of which nothing runs. If it never ran, the handler of its session's status deals with it; if it was
 * ordered to stop, it has stopped.
 */
function failed(kernel: RecordedKernel, report: ObservedKernel, change: KernelChange): KernelChange | undefined {
  if (kernel.status === 'TERMINATING') return { ...change, to: 'TERMINATED', ended: true, gone: true, stopped: true }
  if (kernel.status === 'RUNNING')
    return { ...change, to: 'ERROR', ended: true, gone: true, error: report.error ?? VANISHED }
  if (kernel.failed) return undefined
  const error = report.error ?? { name: 'executor-failed', message: 'the agent could not start it and gave no reason' }
  return { ...change, error }
}

/** Records an end in the same way whether or not a stop was ordered before the report arrived. */
function exited(kernel: RecordedKernel, report: ObservedKernel, change: KernelChange): KernelChange | undefined {
  const ran = report.startedAt !== null || kernel.startedAt !== null || mayStillRun(report)
  const ends = {
    ...change,
    ended: true,
    gone: !mayStillRun(report),
    started: ran,
    exitCode: report.exitCode,
    oomKilled: report.oomKilled,
    usage: report.usage ?? null,
    foundCheckpoint: kernel.startedAt === null ? (report.foundCheckpoint ?? null) : null,
    leftCheckpoint: report.leftCheckpoint ?? null,
    leftOutputs: report.leftOutputs === true,
    inTime: report.inTime ?? null,
  }
  const stopped = kernel.status === 'TERMINATING' && (report.stopped ?? true)
  if (stopped || (kernel.status === 'TERMINATING' && !ran))
    return { ...ends, to: 'TERMINATED', stopped: true, error: report.error }
  // Only a kernel that was ordered to start can have run; other reports are treated as failures.
  if (!ran || !MAY_HAVE_RUN.includes(kernel.status))
    return failed(kernel, { ...report, error: report.error ?? NEVER_RAN }, change)
  // The program ended after the batch timeout. How it ended does not matter: the server would have stopped it at the
  // timeout if it had reached the agent.
  if (report.inTime === false) return { ...ends, to: 'ERROR', error: TIMED_OUT }
  if (isSuccess(report, kernel)) return { ...ends, to: 'TERMINATED' }
  return { ...ends, to: 'ERROR', error: withVerdict(report.error ?? exitError(report), report.verdict ?? null) }
}

/** Whether an agent reports that a process was killed for its use of memory, and that the program exited with 0. */
export function survivedOom({ status, exitCode, oomKilled, error }: ObservedKernel): boolean {
  return status === 'EXITED' && exitCode === 0 && oomKilled && (error === null || error.name === 'oom-killed')
}

function isSuccess(report: ObservedKernel, { oomIsFailure = true }: RecordedKernel): boolean {
  if (survivedOom(report)) return !oomIsFailure
  return report.exitCode === 0 && !report.oomKilled && report.error === null
}

const MAY_HAVE_RUN: readonly KernelStatus[] = ['CREATING', 'RUNNING', 'TERMINATING']

/**
 * Failures of the program itself. A verdict counts only with these: if the program was ended from outside, its verdict
 * is not about that end.
 */
const PROGRAM_FAILURES: readonly string[] = ['kernel-exited', 'path-read-only', 'oom-killed']

function withVerdict(error: FailureError, verdict: ProgramVerdict | null): FailureError {
  if (verdict === null || !PROGRAM_FAILURES.includes(error.name)) return error
  return { ...error, message: verdict.reason ?? error.message, verdict }
}

const TIMED_OUT: FailureError = { name: 'task-timeout', message: 'ran for longer than its batch timeout' }
const VANISHED: FailureError = { name: 'kernel-vanished', message: 'gone without a trace' }
const NEVER_RAN: FailureError = { name: 'kernel-vanished', message: 'the agent stopped it before it ran' }

function exitError(report: ObservedKernel): FailureError {
  if (report.oomKilled) return { name: 'oom-killed', message: 'killed for using more memory than its slot allows' }
  if (report.exitCode === null) return VANISHED
  return { name: 'kernel-exited', message: `exited with ${report.exitCode}`, exitCode: report.exitCode }
}

function order(kernel: RecordedKernel, report: ObservedKernel, answer: Reconciliation): void {
  const { id: kernelId, assignment } = kernel
  const over = report.status === 'EXITED' || report.status === 'FAILED'
  if (isTerminal(kernel.status)) {
    if (!mayStillRun(report)) answer.forget.push({ kernelId, assignment })
  } else if (kernel.status === 'TERMINATING') answer.orders.push({ kernelId, assignment, want: 'STOP' })
  else if (kernel.status === 'CREATING' && !over && report.status !== 'RUNNING' && report.starting !== true) {
    answer.orders.push({ kernelId, assignment, want: 'START' })
  }
}

function missing(kernel: RecordedKernel, answer: Reconciliation): void {
  const { id: kernelId, assignment, status } = kernel
  const gone = { ...confirmGone(kernel), ended: true }
  const vanished: FailureError = { name: 'kernel-vanished', message: 'gone from its agent without a trace' }
  if (isTerminal(status)) {
    if (!kernel.confirmedGone) answer.changes.push(confirmGone(kernel))
  } else if (status === 'TERMINATING' && kernel.startedAt === null)
    answer.changes.push({ ...gone, to: 'TERMINATED', stopped: true })
  else if (status === 'RUNNING' || status === 'TERMINATING')
    answer.changes.push({ ...gone, to: 'ERROR', error: vanished })
  else if (kernel.failed) return
  else if (status === 'CREATING' && kernel.neverRunTwice)
    answer.changes.push({ ...confirmGone(kernel), error: vanished })
  else if (status === 'CREATING') answer.orders.push({ kernelId, assignment, want: 'START' })
  else if (status !== 'PENDING' && status !== 'SCHEDULED') answer.orders.push({ kernelId, assignment, want: 'PREPARE' })
}

function confirmGone(kernel: RecordedKernel): KernelChange {
  return { ...unchanged(kernel), gone: true }
}

function unchanged(kernel: RecordedKernel): KernelChange {
  return {
    id: kernel.id,
    assignment: kernel.assignment,
    from: kernel.status,
    to: kernel.status,
    started: false,
    ended: false,
    gone: false,
    exitCode: null,
    oomKilled: false,
    stopped: false,
    inTime: null,
    error: null,
    port: null,
    usage: null,
    gpus: null,
    gpuUsage: null,
    progress: null,
    foundCheckpoint: null,
    leftCheckpoint: null,
    leftOutputs: false,
    note: null,
    waits: false,
    host: kernel.host,
    slurmJobId: kernel.slurmJobId,
  }
}
