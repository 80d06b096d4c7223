import { messageOf } from '../../../observability/error-message.ts'
import { createPasses, type Passes } from '../../../waiting/passes.ts'
import type { KernelRegistry } from '../kernels/kernel-registry.ts'
import type { KernelEntry } from '../kernels/kernel-entry.ts'
import { overfull } from './chain-bound.ts'
import type { ChainHost } from './chain-host.ts'

interface WatchedKernel extends KernelEntry {
  /** As `performance.now()`. */
  readonly launchedAt: number
  /** Not null: its end is known. */
  readonly ending: object | null
}

type WatchedHost<K extends WatchedKernel> = Omit<ChainHost, 'registry'> & { readonly registry: KernelRegistry<K> }

/** Between two checks, and what a kernel has after its start to clear up what earlier attempts have left. */
const CHECK_INTERVAL_MS = 5_000
/** Pauses are at least so many times as long as the check before: the share of a core that large trees cost. */
const PAUSE_PER_PASS = 10
const STOP_GRACE_MS = 5_000

/**
 * Stops the kernels of a chain whose directory has outgrown its bound: one check of each chain that has some running.
 */
export function createChainWatch<K extends WatchedKernel>(host: WatchedHost<K>): Passes {
  const isBounded = host.limits.chainBytes !== null || host.limits.chainFiles !== null
  let tookMs = 0

  async function pass(): Promise<void> {
    const began = performance.now()
    const settled = running(host).filter(({ launchedAt }) => began - launchedAt >= CHECK_INTERVAL_MS)
    for (const [chainId, one] of new Map(settled.map((kernel) => [kernel.spec.chainId, kernel]))) {
      if (host.registry.closed) return
      const full = await overfull(host, one.spec)
      if (full === null) continue
      const users = running(host).filter(({ spec }) => spec.chainId === chainId)
      for (const kernel of users) host.registry.stop(kernel, STOP_GRACE_MS, full)
    }
    tookMs = performance.now() - began
  }

  const isNeeded = () => isBounded && !host.registry.closed && running(host).length > 0
  return createPasses({
    pauseMs: () => (isNeeded() ? Math.max(CHECK_INTERVAL_MS, tookMs * PAUSE_PER_PASS) : null),
    pauseMinMs: CHECK_INTERVAL_MS,
    pass,
    failed: (error) => host.log.warn({ error: messageOf(error) }, 'the size of chains could not be looked at'),
  })
}

function running<K extends WatchedKernel>(host: WatchedHost<K>): K[] {
  return [...host.registry.kernels.values()].filter(
    ({ phase, killAt, ending }) => phase === 'RUNNING' && killAt === null && ending === null,
  )
}
