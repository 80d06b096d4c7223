import type { ChainSize, KernelSpec } from '../../../domain/agent/protocol.ts'
import type { KernelEntry } from '../kernels/kernel-entry.ts'
import { chainDirectory, chainName, generationOf, isFirstKernel } from './chain-directory.ts'
import type { ChainHost } from './chain-host.ts'
import { chainSize } from './chain-size.ts'

/**
 * Measures, one after the other, the directories of chains that were too large to be looked through when their last
 * kernel ended, and, of `all`, those that have a kernel running here.
 */
export async function measureChains(host: ChainHost, all: boolean): Promise<ChainSize[]> {
  const sizes: ChainSize[] = []
  for (const [name, spec] of new Map([...host.tooLarge, ...(all ? running(host) : [])])) {
    if (host.registry.closed) return sizes
    // Also where it fails: the next attempt is measured while it runs.
    host.tooLarge.delete(name)
    const bytes = await chainSize(chainDirectory(host, spec), 'bytes')
    if (bytes !== null) sizes.push({ chainId: spec.chainId, generation: generationOf(spec), bytes })
  }
  return sizes
}

/** To be measured with the next ones. */
export function noteTooLarge(host: ChainHost, { chainId, checkpoint }: KernelSpec): void {
  host.tooLarge.set(chainName(chainId, generationOf({ chainId, checkpoint })), { chainId, checkpoint })
}

function running(host: ChainHost): [string, KernelEntry['spec']][] {
  return [...host.registry.kernels.values()].flatMap(({ phase, spec }) =>
    phase === 'RUNNING' && isFirstKernel(spec) ? [[chainName(spec.chainId, generationOf(spec)), spec]] : [],
  )
}
