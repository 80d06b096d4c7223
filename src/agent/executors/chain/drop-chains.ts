import { readdirSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { validate } from 'uuid'
import { messageOf } from '../../../observability/error-message.ts'
import type { ChainDirectories } from '../executor.ts'
import {
  chainDirectory,
  chainName,
  chainOf,
  generationOf,
  isChainNeeded,
  isFirstKernel,
  isOwnDraft,
  removeChainMark,
} from './chain-directory.ts'
import type { ChainHost } from './chain-host.ts'
import type { ChainSize, KernelSpec } from '../../../domain/agent/protocol.ts'
import type { KernelEntry } from '../kernels/kernel-entry.ts'
import { chainSize } from './chain-size.ts'

/**
 * Drops directories that no chain needs. They are renamed at once, and deleted in the background. The next start of the
 * agent continues with those that are left.
 */
export function createChainDrops(host: ChainHost): ChainDirectories & { resume(): Promise<void> } {
  /** The last listing, from which drops are served: the server's answer refers to it, and may name many chains. */
  let listed = new Map<string, Stored[]>()

  function dropDirectory(name: string): boolean {
    try {
      if (!host.registry.removals.drop(join(host.chainsDir, name))) return false
    } catch (error) {
      host.log.warn({ name, error: messageOf(error) }, 'an unneeded directory could not be dropped')
      return false
    }
    removeChainMark(join(host.chainsDir, name))
    return true
  }

  return {
    store: host.chainStore,
    async list() {
      listed = byChain(await readdir(host.chainsDir))
      const stored = [...listed].map(([chainId, all]) => ({
        chainId,
        oldest: Math.min(...all.map(({ generation }) => generation)),
      }))
      return stored.toSorted((a, b) => (a.chainId < b.chainId ? -1 : 1))
    },
    drop(chainId, before = Number.POSITIVE_INFINITY) {
      const all = listed.get(chainId) ?? byChain(readdirSync(host.chainsDir)).get(chainId) ?? []
      const over = all.filter(({ generation }) => generation < before && !isChainNeeded(host, chainId, generation))
      return over.filter(({ name }) => dropDirectory(name)).length > 0
    },
    get isUncounted() {
      return host.tooLarge.size > 0
    },
    measure: (all) => measureChains(host, all),
    async resume() {
      await host.registry.removals.resume(host.chainsDir)
      for (const name of await readdir(host.chainsDir)) {
        // The draft is renamed first, because a kernel that continues may already create a new one.
        if (isOwnDraft(host, name)) dropDirectory(name)
      }
    },
  }
}

interface Stored {
  name: string
  generation: number
}

/** Groups directories by the ids of their chains. */
function byChain(names: readonly string[]): Map<string, Stored[]> {
  const found = new Map<string, Stored[]>()
  for (const name of names) {
    const { chainId, generation } = chainOf(name)
    if (validate(chainId)) found.set(chainId, [...(found.get(chainId) ?? []), { name, generation }])
  }
  return found
}

/**
 * Measures the directories of chains that were too large to count when their last kernel ended. With `all`, also
 * measures the directories of running kernels. One directory at a time.
 */
async function measureChains(host: ChainHost, all: boolean): Promise<ChainSize[]> {
  const sizes: ChainSize[] = []
  for (const [name, spec] of new Map([...host.tooLarge, ...(all ? running(host) : [])])) {
    if (host.registry.closed) return sizes
    // A failed measurement is not repeated: the next attempt is measured while it runs.
    host.tooLarge.delete(name)
    const bytes = await chainSize(chainDirectory(host, spec), 'bytes')
    if (bytes !== null) sizes.push({ chainId: spec.chainId, generation: generationOf(spec), bytes })
  }
  return sizes
}

/** Marks the chain's directory to be measured later. */
export function noteTooLarge(host: ChainHost, { chainId, checkpoint }: KernelSpec): void {
  host.tooLarge.set(chainName(chainId, generationOf({ chainId, checkpoint })), { chainId, checkpoint })
}

function running(host: ChainHost): [string, KernelEntry['spec']][] {
  return [...host.registry.kernels.values()].flatMap(({ phase, spec }) =>
    phase === 'RUNNING' && isFirstKernel(spec) ? [[chainName(spec.chainId, generationOf(spec)), spec]] : [],
  )
}
