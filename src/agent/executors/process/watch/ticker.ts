import { checkLife } from './life-check.ts'
import { hasLogGrown } from '../../kernel-directory/log-growth.ts'
import type { ProcessHost } from '../process-host.ts'
import type { ProcessKernel } from '../process-kernel.ts'
import { createLeftoverSweep } from './leftover-sweep.ts'

const TICK_MS = 100
/** While a killed kernel's end is awaited. */
const URGENT_TICK_MS = 10
const REAP_INTERVAL_MS = 1_000

/** The executor's periodic checks. The timer stops while no kernel runs and nothing is left to clean up. */
export function createTicker(host: ProcessHost): { wake(): void; close(): void } {
  let timer: NodeJS.Timeout | null = null
  let dueAt = 0
  let reapedAt = 0
  const sweep = createLeftoverSweep(host)

  function tick(): void {
    timer = null
    const now = performance.now()
    let grown = false
    for (const kernel of host.kernels.values()) {
      checkLife(host, kernel, now)
      grown = hasLogGrown(kernel, now) || grown
    }
    if (grown) host.changed()
    sweep.run(now)
    if (now - reapedAt >= REAP_INTERVAL_MS || !hasWork(host)) {
      reapedAt = now
      host.forkServer.reap()
    }
    for (const group of host.cgroupsToRemove) {
      if (host.cgroups?.remove(group) !== false) host.cgroupsToRemove.delete(group)
    }
    if (hasWork(host)) wake()
  }

  function wake(): void {
    if (host.closed) return
    const pause = isUrgent(host) ? URGENT_TICK_MS : TICK_MS
    if (timer !== null && dueAt <= performance.now() + pause) return
    clearTimeout(timer ?? undefined)
    dueAt = performance.now() + pause
    timer = setTimeout(tick, pause).unref()
  }

  return { wake, close: () => clearTimeout(timer ?? undefined) }
}

function isUrgent(host: ProcessHost): boolean {
  return [...host.kernels.values()].some((kernel) => kernel.phase === 'RUNNING' && isAwaited(kernel))
}

function hasWork(host: ProcessHost): boolean {
  if (host.cgroupsToRemove.size > 0) return true
  return [...host.kernels.values()].some((kernel) => kernel.phase === 'RUNNING' || kernel.phase === 'LAUNCHING')
}

function isAwaited(kernel: ProcessKernel): boolean {
  return kernel.killed || kernel.ending !== null || kernel.signalPending
}
