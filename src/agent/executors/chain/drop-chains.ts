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
 * Directories that are needed by nobody are renamed at once, beside the others, and removed in the background. Another
 * start of the agent goes on with those that are left.
 */
export function createChainDrops(host: ChainHost): ChainDirectories & { resume(): Promise<void> } {
  /** Of the last listing: the server answers to that, and many chains may have been removed at once. */
  let listed = new Map<string, Stored[]>()

  function dropDirectory(name: string): boolean {
    try {
      if (!host.registry.removals.drop(join(host.chainsDir, name))) return false
    } catch (error) {
      host.log.warn({ name, error: messageOf(error) }, 'what is needed by nobody could not be dropped')
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
        // Renamed first: a kernel that goes on may already make one anew.
        if (isOwnDraft(host, name)) dropDirectory(name)
      }
    },
  }
}

interface Stored {
  name: string
  generation: number
}

/** Directories by the ids of their chains. */
function byChain(names: readonly string[]): Map<string, Stored[]> {
  const found = new Map<string, Stored[]>()
  for (const name of names) {
    const { chainId, generation } = chainOf(name)
    if (validate(chainId)) found.set(chainId, [...(found.get(chainId) ?? []), { name, generation }])
  }
  return found
}

/**
 * Measures, one after the other, the directories of chains that were too large to be looked through when their last
 * kernel ended, and, of `all`, those that have a kernel running here.
 */
async function measureChains(host: ChainHost, all: boolean): Promise<ChainSize[]> {
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
