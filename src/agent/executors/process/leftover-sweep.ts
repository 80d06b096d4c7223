import { messageOf } from '../../../observability/error-message.ts'
import { concludeEnd } from './end-kernel.ts'
import { findProcesses, kernelIdOf, scanProcesses, signalProcess } from './proc-stat.ts'
import type { ProcessHost, ProcessKernel } from './process-host.ts'

/** Largest share of its time that the agent spends on scans. */
const SHARE = 0.1
const FAULT_PAUSE_MS = 1_000

/**
 * Finds the processes of kernels without a cgroup. Asks them to end when a kernel is stopped. Kills what ended kernels
 * without PID namespace have left: processes in the kernel's session, and processes with its id in their environment. A
 * process that created its own session and cleared its environment escapes.
 */
export function createLeftoverSweep(host: ProcessHost): { run(now: number): void } {
  let nextAt = 0
  let running = false

  async function sweep(asking: ProcessKernel[], ended: ProcessKernel[]): Promise<void> {
    const began = performance.now()
    if (asking.length > 0) await askToEnd(asking)
    if (ended.length > 0) await killAll(ended)
    const now = performance.now()
    nextAt = now + (now - began) / SHARE
  }

  async function killAll(kernels: ProcessKernel[]): Promise<void> {
    const left = await killProcessesOf(kernels, sessionsInUse(host))
    for (const kernel of kernels) {
      kernel.toAsk = null
      kernel.swept = !left.has(kernel)
      concludeEnd(host, kernel)
    }
  }

  return {
    run(now) {
      if (running || now < nextAt) return
      const kernels = [...host.registry.kernels.values()]
      const [asking, ended] = [kernels.filter(isToAsk), kernels.filter(isToSweep)]
      if (asking.length === 0 && ended.length === 0) return
      running = true
      sweep(asking, ended)
        .catch((error: unknown) => {
          nextAt = performance.now() + FAULT_PAUSE_MS
          host.log.warn({ error: messageOf(error) }, 'the processes of kernels could not be searched for')
        })
        .finally(() => (running = false))
    },
  }
}

function isToAsk({ phase, ending, killed, toAsk, shim }: ProcessKernel): boolean {
  return phase === 'RUNNING' && ending === null && !killed && toAsk !== null && shim !== null
}

/** Asks the processes outside the group that was asked already. */
async function askToEnd(kernels: readonly ProcessKernel[]): Promise<void> {
  const byId = new Map(kernels.map(({ id, toAsk }) => [id, toAsk!]))
  const found = await findProcesses(kernels.map(({ id, shim }) => ({ id, first: shim! })))
  for (const kernel of kernels) kernel.toAsk = null
  for (const { id, stat } of found) {
    const { group, spared } = byId.get(id)!
    if (stat.group !== group && !spared.includes(stat.pid)) signalProcess(stat.pid, 'SIGTERM')
  }
}

function isToSweep({ phase, ending, cgroup, swept }: ProcessKernel): boolean {
  return phase === 'RUNNING' && ending !== null && cgroup === null && !swept
}

/**
 * Returns the sessions of running kernels. A pid was free when such a session began, so nothing is left of an earlier
 * session with the same number.
 */
function sessionsInUse(host: ProcessHost): Set<number> {
  const running = [...host.registry.kernels.values()].filter(
    ({ phase, ending }) => phase === 'RUNNING' && ending === null,
  )
  return new Set(running.map(({ shim }) => shim?.pid ?? 0))
}

/**
 * Kills these processes. If their kernel is being stopped and still has a grace period, asks them to end instead.
 *
 * @returns the kernels of which a process was found
 */
async function killProcessesOf(
  kernels: readonly ProcessKernel[],
  inUse: ReadonlySet<number>,
): Promise<Set<ProcessKernel>> {
  const bySession = new Map(kernels.map((kernel) => [kernel.shim?.pid, kernel]))
  const byId = new Map(kernels.map((kernel) => [kernel.id, kernel]))
  const oldest = Math.min(...kernels.map(({ shim }) => shim?.startTicks ?? Number.POSITIVE_INFINITY))
  const left = new Set<ProcessKernel>()
  const candidates = scanProcesses().filter(({ startTicks, state }) => startTicks >= oldest && !'ZX'.includes(state))
  const owners = candidates.map(async (stat) => {
    const kernel =
      (inUse.has(stat.session) ? undefined : bySession.get(stat.session)) ?? byId.get((await kernelIdOf(stat)) ?? '')
    if (kernel === undefined) return
    left.add(kernel)
    if (!hasGrace(kernel)) signalProcess(stat.pid, 'SIGKILL')
    else if (kernel.toAsk !== null && stat.group !== kernel.toAsk.group) signalProcess(stat.pid, 'SIGTERM')
  })
  await Promise.all(owners)
  return left
}

function hasGrace({ killAt, killed }: ProcessKernel): boolean {
  return !killed && killAt !== null && Date.now() < killAt
}
