import { randomUUID } from 'node:crypto'
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Owner } from '../../../archive/extract-archive.ts'
import { writeControlFile } from '../../control-file.ts'
import { messageOf } from '../../../observability/error-message.ts'
import { claimStatus } from '../kernel-directory/kernel-directory.ts'
import { quote } from '../process/shell/quote.ts'
import { cpusOf, submissionArguments } from './job-arguments.ts'
import { isSameUser } from './job-users.ts'
import type { SlurmHost } from './slurm-host.ts'
import { gangSize, type SlurmKernel, type SubmitMark } from './slurm-kernel.ts'

const AT_ONCE_MAX = 4
/** Slurm's own bound where nothing else is configured; what a cluster takes is found out. */
const ARRAY_MAX = 1_000
/** In which equal ones gather, before a first call; behind that, as long as it takes. */
const GATHER_MS = 20
const PAUSE_MIN_MS = 1_000
const PAUSE_MAX_MS = 60_000

/**
 * Hands kernels to Slurm, in the order of their starts: equal ones as one array, those of a session together as one job.
 * What Slurm does not take now is tried again after 1, 2, 4 … 60 s; meanwhile it says why it waits.
 *
 * `submit` is written before `sbatch` is called. A crash in between, or a dying agent's `sbatch` that succeeds late, may
 * leave a job that nobody counts; the claim lets only one of several run.
 */
export function createSubmitQueue(host: SlurmHost): SubmitQueue {
  const waiting = new Set<SlurmKernel>()
  /** What is being submitted, by batchKey. */
  const running = new Set<string>()
  let arrayMax = ARRAY_MAX
  let failures = 0
  let retryAt = 0
  let timer: NodeJS.Timeout | undefined

  function pump(): void {
    timer = undefined
    dropStopped()
    if (host.presence.fault !== null) return schedule(PAUSE_MIN_MS)
    const refusal = host.lease.refusal()
    if (refusal !== null) return later(refusal, PAUSE_MIN_MS)
    if (performance.now() < retryAt) return schedule(retryAt - performance.now())
    while (running.size < AT_ONCE_MAX) {
      const room = host.options.queueJobs - jobsOf(host)
      const batch = nextBatch(waiting, Math.min(room, arrayMax), host.book.kernels.values(), running)
      const [first] = batch
      if (first === undefined) break
      const key = batchKey(first)
      for (const kernel of batch) waiting.delete(kernel)
      running.add(key)
      void submit(host, batch)
        .then((again) => {
          if (again === null) succeeded()
          else if (again.tooMany && batch.length > 1) divide(batch)
          else failed(batch, again.reason)
        })
        .finally(() => {
          running.delete(key)
          schedule(0)
        })
    }
  }

  function succeeded(): void {
    failures = 0
  }

  function divide(batch: readonly SlurmKernel[]): void {
    arrayMax = Math.min(arrayMax, Math.floor(batch.length / 2))
    host.log.info({ tasks: batch.length, arrayMax }, 'Slurm takes no array of so many')
    putBack(batch)
  }

  function putBack(batch: readonly SlurmKernel[]): void {
    for (const kernel of batch) if (isSubmittable(kernel)) waiting.add(kernel)
  }

  function failed(batch: readonly SlurmKernel[], reason: string): void {
    failures += 1
    const pauseMs = Math.min(PAUSE_MIN_MS * 2 ** (failures - 1), PAUSE_MAX_MS)
    retryAt = performance.now() + pauseMs
    if (failures === 1) host.log.warn({ reason }, 'Slurm does not take jobs now')
    putBack(batch)
    later(reason, pauseMs)
  }

  function later(reason: string, pauseMs: number): void {
    if (waiting.size === 0) return
    let changed = false
    for (const kernel of waiting) {
      changed ||= kernel.note !== reason
      kernel.note = reason
    }
    if (changed) host.book.changed()
    schedule(pauseMs)
  }

  /** Nothing runs them: the stop is answered here, unless a submission that seemed to fail has not. */
  function dropStopped(): void {
    for (const kernel of waiting) {
      if (isSubmittable(kernel) && kernel.killAt === null) continue
      const never = !isSubmittable(kernel) || kernel.submissions === 0 || giveUp(kernel)
      if (never === null) continue
      waiting.delete(kernel)
      if (!isSubmittable(kernel)) continue
      if (never) {
        host.book.endBeforeRunning(kernel, kernel.stopError)
      } else {
        kernel.handedOver = true
        host.book.applyStop(kernel)
      }
    }
  }

  /** @returns whether nothing runs it any more; null if that cannot be said while the directory is away */
  function giveUp({ id, outputPath }: SlurmKernel): boolean | null {
    if (host.presence.fault !== null) return null
    try {
      return claimStatus(outputPath, 'never')
    } catch (error) {
      host.log.debug({ kernelId: id, error: messageOf(error) }, 'the start of a kernel could not be given up')
      return null
    }
  }

  function schedule(pauseMs: number): void {
    if (host.book.closed || waiting.size === 0 || timer !== undefined) return
    timer = setTimeout(pump, pauseMs).unref()
  }

  return {
    add(kernel) {
      waiting.add(kernel)
      schedule(GATHER_MS)
    },
    dropStopped,
    close: () => clearTimeout(timer),
  }
}

export interface SubmitQueue {
  add(kernel: SlurmKernel): void
  /** Ends those whose stop was ordered while they waited. */
  dropStopped(): void
  close(): void
}

function isSubmittable({ phase }: SlurmKernel): boolean {
  return phase === 'LAUNCHING'
}

function jobsOf({ book }: SlurmHost): number {
  return [...book.kernels.values()].filter(
    ({ phase, handedOver }) => handedOver && (phase === 'LAUNCHING' || phase === 'RUNNING'),
  ).length
}

/**
 * The first that waits, with all that go with it; empty if there is no room, or if each still lacks some of its gang.
 * While some are submitted, those that are equal to them gather: the more there are, the fewer calls.
 */
function nextBatch(
  waiting: ReadonlySet<SlurmKernel>,
  room: number,
  all: Iterable<SlurmKernel>,
  running: ReadonlySet<string>,
): SlurmKernel[] {
  if (room <= 0) return []
  let bySession: Map<string, SlurmKernel[]> | undefined
  for (const first of waiting) {
    if (gangSize(first) === 1) {
      if (running.has(batchKey(first))) continue
      return equalTo(first, waiting, room)
    }
    bySession ??= Map.groupBy(all, ({ spec }) => spec.sessionId)
    const gang = bySession.get(first.spec.sessionId)!
    const ready = gang.length === gangSize(first) && gang.every((kernel) => waiting.has(kernel) || hasBegun(kernel))
    if (ready) return gang.filter((kernel) => waiting.has(kernel)).toSorted(byRole)
  }
  return []
}

/** Of a gang that is submitted once more some may run, or have run; one that was stopped before leaves nothing to start. */
function hasBegun({ startedAt }: SlurmKernel): boolean {
  return startedAt !== null
}

function equalTo(first: SlurmKernel, waiting: ReadonlySet<SlurmKernel>, room: number): SlurmKernel[] {
  const key = batchKey(first)
  const equal = [...waiting].filter((kernel) => gangSize(kernel) === 1 && batchKey(kernel) === key)
  return equal.slice(0, room)
}

function byRole(a: SlurmKernel, b: SlurmKernel): number {
  return a.spec.role.localeCompare(b.spec.role) || a.spec.index - b.spec.index
}

/** A job has one user, and so have the tasks of an array. The kernels of a gang are a job of their own. */
function batchKey(kernel: SlurmKernel): string {
  const { user, request, exclusion, spec } = kernel
  return JSON.stringify([user, request, exclusion, gangSize(kernel) === 1 ? null : spec.sessionId])
}

/** Why it is to be tried again. */
interface Again {
  reason: string
  /** At once, with fewer. */
  tooMany: boolean
}

/** Never rejects. @returns null if there is no need to try again */
async function submit(host: SlurmHost, batch: readonly SlurmKernel[]): Promise<Again | null> {
  try {
    return await submitBatch(host, batch)
  } catch (error) {
    return { reason: (await host.presence.look()) ?? messageOf(error), tooMany: false }
  }
}

async function submitBatch(host: SlurmHost, batch: readonly SlurmKernel[]): Promise<Again | null> {
  const [first] = batch as [SlurmKernel]
  const gang = gangSize(first) > 1
  const array = batch.length > 1 && !gang
  const single = batch.length === 1 && !gang
  const { user } = first
  if (batch.some((kernel) => !isSameUser(kernel.user, user))) return refuse(host, batch, OTHER_USER)
  const name = single ? `rp-${first.id}-${first.assignment}` : `rp-b${randomUUID()}`
  const at = Date.now()
  const directory = single ? first.outputPath : makeBatch(host, batch, name)
  for (const [task, kernel] of batch.entries()) {
    kernel.submissions += 1
    note(kernel, { name, task: array ? task : null, at, submissions: kernel.submissions })
    kernel.handedOver = true
    kernel.submittedAt = Number.POSITIVE_INFINITY
  }
  const args = [
    ...submissionArguments({
      output: join(directory, ...(user === null || single ? [] : ['job']), array ? 'slurm.out.%a' : 'slurm.out'),
      directory: host.shared.root,
      name,
      comment: commentOf(host.agentId, array ? { list: join(directory, 'kernels') } : first),
    }),
    ...(array ? [`--array=0-${batch.length - 1}`] : []),
    ...first.request,
    // Alone, either would leave the agent's own.
    ...(user === null ? [] : [`--uid=${user.uid}`, `--gid=${user.gid}`]),
  ]
  const script = scriptOf(host, batch, { gang, at, directory })
  const { exclusion } = first
  const wished = await host.commands.submit([...exclusion, ...args], script)
  const inVain = wished.kind === 'refused' && exclusion.length > 0
  const result = inVain ? await host.commands.submit(args, script) : wished
  for (const kernel of batch) kernel.submittedAt = performance.now()
  host.wake()
  if (result.kind === 'submitted') return null
  if (result.kind !== 'refused') {
    // Unless it says that they are too many, it may have taken them: then their claim keeps a second job from running them.
    const tooMany = result.kind === 'too-many'
    for (const kernel of batch) {
      kernel.handedOver = false
      if (tooMany) kernel.submissions -= 1
    }
    return { reason: result.message, tooMany }
  }
  return refuse(host, batch, `Slurm refuses its job: ${result.message}`)
}

const OTHER_USER = 'the Unix user of its project is not the one that it was when its session began to start'

function refuse({ book }: SlurmHost, batch: readonly SlurmKernel[], message: string): null {
  for (const kernel of batch) book.fail(kernel, 'submit-refused', message)
  return null
}

/**
 * By the agent's id in it, jobs are known whose kernel has gone; people find the session. The tasks of an array share it:
 * theirs are in its list, in the order of their numbers.
 */
export function commentOf(agentId: string, of: SlurmKernel | { list: string }): string {
  const which = 'list' in of ? `tasks=${of.list}` : attemptOf(of)
  return `reprise agent=${agentId} ${which}`
}

function attemptOf({ spec }: SlurmKernel): string {
  return `session=${spec.sessionId} attempt=${spec.attempt}`
}

function makeBatch({ shared }: SlurmHost, batch: readonly SlurmKernel[], name: string): string {
  const directory = join(shared.batches, name)
  mkdirSync(directory)
  const lines = batch.map((kernel) => `${kernel.id} ${kernel.assignment} ${attemptOf(kernel)}\n`)
  writeFileSync(join(directory, 'kernels'), lines.join(''))
  chmodSync(join(directory, 'kernels'), 0o644)
  chmodSync(directory, 0o755)
  const { user } = batch[0]!
  if (user !== null) giveBatch(directory, user)
  return directory
}

/** What Slurm itself says of the tasks is written by their user, who alone reads the list. */
function giveBatch(directory: string, { uid, gid }: Owner): void {
  const output = join(directory, 'job')
  mkdirSync(output, 0o700)
  chmodSync(join(directory, 'kernels'), 0o400)
  for (const path of [output, join(directory, 'kernels')]) chownSync(path, uid, gid)
}

function note(kernel: SlurmKernel, mark: SubmitMark): void {
  writeControlFile(join(kernel.path, 'submit'), JSON.stringify(mark))
  kernel.submit = mark
  Object.assign(kernel, { row: 'unknown', missed: 0, rowSince: performance.now() })
}

function scriptOf(
  { shared }: SlurmHost,
  [first, ...others]: readonly SlurmKernel[],
  { gang, at, directory }: { gang: boolean; at: number; directory: string },
): string {
  const { root, jobScript } = shared
  const submittedAt = Math.floor(at / 1000)
  if (gang) {
    const words = `/bin/sh ${quote(jobScript)} ${quote(root)} ${submittedAt} gang ${quote(join(directory, 'kernels'))}`
    return `#!/bin/sh\nexec ${srunFor(first!)} ${words}\n`
  }
  const tasks = [first!, ...others].map(({ id, assignment }) => `${id} ${assignment}`).join(' ')
  const own = others.length === 0 ? '' : 'shift $((2 * SLURM_ARRAY_TASK_ID))\n'
  const words = `${quote(root)} ${submittedAt} one "$1" "$2"`
  // In this very shell: another would cost about a millisecond.
  return `#!/bin/sh\nset -- ${tasks}\n${own}set -- ${words}\n. ${quote(jobScript)}\n`
}

/** A task that fails or ends leaves the others alone, and each has the processors that it asked for. */
function srunFor({ spec }: SlurmKernel): string {
  return `srun --kill-on-bad-exit=0 --wait=0 --mem=0 --cpus-per-task=${cpusOf(spec)} --cpu-bind=none`
}
