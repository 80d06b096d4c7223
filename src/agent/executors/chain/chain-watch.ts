import { messageOf } from '../../../observability/error-message.ts'
import { createPasses, type Passes } from '../../../waiting/passes.ts'
import type { KernelRegistry } from '../kernels/kernel-steps.ts'
import type { KernelEntry } from '../kernels/kernel-entry.ts'
import type { ChainHost } from './chain-host.ts'
import type { KernelSpec } from '../../../domain/agent/protocol.ts'
import type { FailureError } from '../../../domain/session/failure.ts'
import { chainDirectory } from './chain-directory.ts'
import { chainSize } from './chain-size.ts'
import { describeBytes } from '../../../domain/amounts.ts'

interface WatchedKernel extends KernelEntry {
  /** Time of `performance.now()` at which the kernel was launched. */
  readonly launchedAt: number
  /** Set once the kernel's end is known. */
  readonly ending: object | null
}

type WatchedHost<K extends WatchedKernel> = Omit<ChainHost, 'registry'> & { readonly registry: KernelRegistry<K> }

/** Pause between two checks. A new kernel also has this long to delete what earlier attempts have left. */
const CHECK_INTERVAL_MS = 5_000
/** A pause lasts at least this many times as long as the check before it, which limits the CPU time for large trees. */
const PAUSE_PER_PASS = 10
const STOP_GRACE_MS = 5_000

/**
 * Stops the kernels of a chain whose directory exceeds a limit. Each chain with running kernels is checked once per
 * pass.
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
    failed: (error) => host.log.warn({ error: messageOf(error) }, 'the size of chains could not be checked'),
  })
}

function running<K extends WatchedKernel>(host: WatchedHost<K>): K[] {
  return [...host.registry.kernels.values()].filter(
    ({ phase, killAt, ending }) => phase === 'RUNNING' && killAt === null && ending === null,
  )
}

const VARIABLES = { bytes: 'REPRISE_CHAIN_BYTES_MAX', files: 'REPRISE_CHAIN_FILES_MAX' } as const

/** Returns the failure of kernels whose directory exceeds a limit; null if it does not, or could not be measured. */
export async function overfull(
  host: ChainHost,
  spec: Pick<KernelSpec, 'chainId' | 'checkpoint'>,
): Promise<FailureError | null> {
  const { chainId } = spec
  const { chainBytes, chainFiles } = host.limits
  for (const [unit, most] of [['bytes', chainBytes] as const, ['files', chainFiles] as const]) {
    if (most === null) continue
    const size = await chainSize(chainDirectory(host, spec), unit)
    if (size === null) host.log.warn({ chainId, unit }, 'the directory of a chain could not be measured')
    if (size === null || size <= most) continue
    const describe = (number: number) => (unit === 'bytes' ? describeBytes(number) : `${number} files`)
    const message = `the chain's directory holds ${describe(size)}, more than the ${describe(most)} that its agent allows (${VARIABLES[unit]})`
    return { name: 'chain-directory-full', message }
  }
  return null
}
