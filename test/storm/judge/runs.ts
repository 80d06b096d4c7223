import type { Terms } from '../terms.ts'
import type { Evidence, KernelRow, Run, SessionRow } from './evidence.ts'
import { ONCE } from '../kernel.ts'
import type { Accuse } from './promises.ts'

/**
 * What the kernels' own lines say. A process lived from its first line to its last: it read the time itself before it
 * wrote each. The uptime is the same for all processes of the machine, nobody can set it, and it counts hundredths of a
 * second, cut off: if one process's last time is greater than another's first, and the other way round, both lived at
 * some moment.
 */

const SIGKILL_CODE = 137
const SIGTERM_CODE = 143
const TIMED_OUT = /time.?out|timed out|time limit/i

export const hasTimedOut = ({ cause, reason }: SessionRow) =>
  cause === 'KERNEL_NONZERO_EXIT' && TIMED_OUT.test(reason ?? '')

export function runPromises(evidence: Evidence, accuse: Accuse): void {
  const { runs, sessions, kernels } = evidence
  expectOneMachine(runs, accuse)
  for (const [chainId, own] of Map.groupBy(runs, (run) => run.chainId)) expectNoneTwice(chainId, own, accuse)
  const byKernel = Map.groupBy(runs, ({ kernelId }) => kernelId)
  const known = new Map(sessions.map((session) => [session.id, session]))
  for (const kernel of kernels) {
    const session = known.get(kernel.sessionId)
    if (session !== undefined) expectTruth(session, kernel, byKernel.get(kernel.id) ?? [], accuse)
  }
  for (const session of sessions)
    expectSuccess(
      session,
      runs.filter(({ sessionId }) => sessionId === session.id),
      evidence.terms,
      accuse,
    )
  expectOnce(evidence, accuse)
  for (const run of runs) expectLimit(run, known.get(run.sessionId), evidence.terms, accuse)
  expectNothingLeft(evidence, accuse)
}

function expectOneMachine(runs: readonly Run[], accuse: Accuse): void {
  const boots = new Set(runs.map(({ bootId }) => bootId))
  if (boots.size > 1) accuse('two-live', 'the machine', 'was started again: times of kernels cannot be compared')
}

/** Kernels of one session live together; those of two never do, nor does one kernel twice. */
function expectNoneTwice(chainId: string, runs: readonly Run[], accuse: Accuse): void {
  const inOrder = runs.toSorted((a, b) => a.firstAt - b.firstAt)
  for (const [index, first] of inOrder.entries()) {
    for (const second of inOrder.slice(index + 1)) {
      if (second.firstAt >= first.lastAt || second.lastAt <= first.firstAt) continue
      const same = second.sessionId === first.sessionId
      if (same && second.kernelId !== first.kernelId) continue
      const seconds = (Math.min(first.lastAt, second.lastAt) - second.firstAt).toFixed(2)
      const who = same ? `kernel ${first.kernelId} twice` : `attempts ${first.attempt} and ${second.attempt}`
      accuse('two-live', chainId, `${who} lived at once for ${seconds} s from uptime ${second.firstAt}`)
    }
  }
}

/** Only a person starts work again that must not run twice, and that begins a new epoch. */
function expectOnce({ runs, sessions }: Evidence, accuse: Accuse): void {
  const once = sessions.filter(({ name }) => name === ONCE)
  for (const own of Map.groupBy(once, ({ chainId, epoch }) => `${chainId} ${epoch}`).values()) {
    const begun = runs.filter(({ sessionId }) => own.some(({ id }) => id === sessionId))
    const [{ id } = { id: '' }, ...others] = own
    if (begun.length > 1) accuse('once', id, `has begun ${begun.length} times`)
    if (others.length > 0) accuse('once', id, `has ${others.length} retries`)
  }
}

/** A recorded exit code is one with which the program itself ended, or that of the signal that ended it. */
function expectTruth(session: SessionRow, kernel: KernelRow, runs: readonly Run[], accuse: Accuse): void {
  const last = runs.toSorted((a, b) => a.firstAt - b.firstAt).at(-1)
  const { exitCode } = kernel
  if (exitCode === null) return
  if (last === undefined) {
    // Killed before its first line.
    if (exitCode !== SIGKILL_CODE && exitCode !== SIGTERM_CODE) {
      accuse('exit-code', session.id, `kernel ${kernel.id} has the exit code ${exitCode}, and never ran`)
    }
    return
  }
  const { endedWith, told } = last
  if (exitCode === endedWith) return
  // Killed before it could say so, or after it had said that it ends: one that was told to may be out of time then.
  const killed = exitCode === SIGKILL_CODE && (endedWith === null || kernel.stopped || told)
  const ended = exitCode === SIGTERM_CODE && endedWith === null && !told
  if (!killed && !ended) {
    accuse('exit-code', session.id, `kernel ${kernel.id} has the exit code ${exitCode}, and ended with ${endedWith}`)
  }
}

/** A success is one of all that ran to its end; a program that said 0 in time did not fail. */
function expectSuccess(session: SessionRow, runs: readonly Run[], terms: Terms, accuse: Accuse): void {
  const { id, result, reason, cause, batchTimeout } = session
  const zero = runs.filter(({ endedWith }) => endedWith === 0)
  if (result === 'SUCCESS' && zero.length === 0) {
    accuse('exit-code', id, `is a success, and no program of it ended with 0`)
  }
  if (result !== 'FAILURE' || session.clusterSize > 1) return
  const own = runs.find(({ endedWith }) => endedWith !== null)
  if (
    cause === 'KERNEL_NONZERO_EXIT' &&
    session.exitCode !== null &&
    own !== undefined &&
    own.endedWith !== session.exitCode
  ) {
    if (session.exitCode !== SIGKILL_CODE) {
      accuse('exit-code', id, `failed with ${session.exitCode}, and its program ended with ${own.endedWith}`)
    }
  }
  // It began before its first line, and ended after its last.
  const inTime = zero.find((run) => batchTimeout === null || livedFor(run) + 2 * terms.blurSeconds < batchTimeout)
  // A lost agent cannot tell: its kernels count as failed, whatever they did, or as not begun if the start was not known.
  const untold = cause === 'AGENT_TRANSIENT' || (session.reschedules > 0 && !session.started)
  if (inTime !== undefined && !untold && session.terminatedBy === null) {
    accuse('exit-code', id, `failed (${cause}: ${reason}), and its program had ended with 0 in time`)
  }
}

/** By the clock that its agent has, too. */
const livedFor = ({ movedFirstAt, movedLastAt }: Run) => movedLastAt - movedFirstAt

/** An agent that is halted or cut off stops nothing: then the fence does, some time after the limit. */
function expectLimit(run: Run, session: SessionRow | undefined, terms: Terms, accuse: Accuse): void {
  if (session === undefined || session.batchTimeout === null) return
  const { id, batchTimeout } = session
  const lived = livedFor(run)
  const overtime = terms.overtimeSeconds + (terms.stepSeconds > 0 ? terms.fenceAfterMs / 1000 : 0)
  if (lived > batchTimeout + overtime) {
    accuse('time-limit', id, `its program lived for ${lived.toFixed(1)} s, with a limit of ${batchTimeout} s`)
  }
  if (hasTimedOut(session) && run.endedWith === null && lived + 2 * terms.blurSeconds < batchTimeout) {
    accuse('time-limit', id, `timed out after ${lived.toFixed(1)} s, with a limit of ${batchTimeout} s`)
  }
}

function expectNothingLeft({ kernels, runs, storm }: Evidence, accuse: Accuse): void {
  for (const { sessionId, status, confirmedGone, slotsHeld } of kernels) {
    if (!confirmedGone) accuse('left', sessionId, `a kernel that is ${status} is not known to be gone`)
    if (slotsHeld) accuse('left', sessionId, `a kernel that is ${status} still holds its slots`)
  }
  const settled = storm.find((record) => record.kind === 'settled')
  if (settled === undefined) return accuse('lost', 'the storm', 'did not come to its end')
  if (settled.late) accuse('lost', 'the storm', `gave up waiting for ${settled.waitingFor}`)
  for (const { sessionId, lastAt, file } of runs) {
    if (lastAt > settled.at.up) accuse('left', sessionId, `its program ${file} lived on after everything had ended`)
  }
}
