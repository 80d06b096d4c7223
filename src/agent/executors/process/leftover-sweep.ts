import { readFile } from 'node:fs/promises'
import { messageOf } from '../../../observability/error-message.ts'
import { concludeEnd } from './end-kernel.ts'
import { KERNEL_ID_VARIABLE } from './image-preset.ts'
import { type ProcStat, scanProcesses, signalProcess } from './proc-stat.ts'
import type { ProcessHost, ProcessKernel } from './process-host.ts'

/** Largest share of its time that the agent spends on scans. */
const SHARE = 0.1
const FAULT_PAUSE_MS = 1_000

/**
 * Kills what ended kernels without cgroup and PID namespace have left: processes in the kernel's session, and processes
 * with its id in their environment. A process that created its own session and cleared its environment escapes.
 */
export function createLeftoverSweep(host: ProcessHost): { run(now: number): void } {
  let nextAt = 0
  let running = false

  async function sweep(kernels: ProcessKernel[]): Promise<void> {
    const began = performance.now()
    const left = await killProcessesOf(kernels, sessionsInUse(host))
    for (const kernel of kernels) {
      kernel.swept = !left.has(kernel)
      concludeEnd(host, kernel)
    }
    const now = performance.now()
    nextAt = now + (now - began) / SHARE
  }

  return {
    run(now) {
      const kernels = running || now < nextAt ? [] : [...host.registry.kernels.values()].filter(isToSweep)
      if (kernels.length === 0) return
      running = true
      sweep(kernels)
        .catch((error: unknown) => {
          nextAt = performance.now() + FAULT_PAUSE_MS
          host.log.warn({ error: messageOf(error) }, 'leftover processes of kernels could not be searched for')
        })
        .finally(() => (running = false))
    },
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

/** @returns the kernels of which a process was found */
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
    signalProcess(stat.pid, 'SIGKILL')
  })
  await Promise.all(owners)
  return left
}

/**
 * Reads the kernel's id from a process's environment. Not synchronous, because the operating system reads it from the
 * process's memory, which may be swapped out.
 */
export async function kernelIdOf({ pid }: ProcStat): Promise<string | null> {
  const environ = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '')
  const entry = environ.split('\0').find((each) => each.startsWith(`${KERNEL_ID_VARIABLE}=`))
  return entry?.slice(KERNEL_ID_VARIABLE.length + 1) ?? null
}
