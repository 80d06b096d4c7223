import { randomBytes } from 'node:crypto'
import { renameSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { validate } from 'uuid'
import { messageOf } from '../../../../observability/error-message.ts'
import type { ChainDirectories } from '../../executor.ts'
import { runInBackground } from './background-command.ts'
import { isChainNeeded, STALE } from './chain-directory.ts'
import { removeChainMark } from './chain-mark.ts'
import type { ChainHost } from './chain-host.ts'

/** No id of a chain begins like this. */
const DROPPED = '.dropped-'

/**
 * Directories that no chain needs are renamed at once, beside the others, and removed one after the other. Another start
 * of the agent goes on with those that are left.
 */
export function createChainDrops(host: ChainHost): ChainDirectories & { resume(): Promise<void> } {
  let removals = Promise.resolve()
  /** As last listed. */
  let known = new Map<string, Stored[]>()

  function remove(path: string): void {
    removals = removals.then(async () => {
      if (host.book.closed || (await removeTree(path))) return
      host.log.warn({ path }, 'what a removed chain has stored could not be removed')
    })
  }

  function dropDirectory(chainId: string, name: string): boolean {
    const aside = join(host.chainsDir, `${DROPPED}${randomBytes(8).toString('hex')}`)
    try {
      renameSync(join(host.chainsDir, name), aside)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
        host.log.warn({ chainId, error: messageOf(error) }, 'what a chain has stored could not be dropped')
      return false
    }
    removeChainMark(join(host.chainsDir, name))
    remove(aside)
    return true
  }

  return {
    store: host.chainStore,
    async list() {
      known = Map.groupBy((await readdir(host.chainsDir)).flatMap(storedAs), ({ chainId }) => chainId)
      const stored = [...known].map(([chainId, all]) => {
        return { chainId, oldest: Math.min(...all.map(({ generation }) => generation)) }
      })
      return stored.toSorted((a, b) => (a.chainId < b.chainId ? -1 : 1))
    },
    drop(chainId, before = Number.POSITIVE_INFINITY) {
      if (!validate(chainId)) return false
      const all = known.get(chainId) ?? [{ chainId, generation: 0, name: chainId }]
      const over = all.filter(({ generation }) => generation < before && !isChainNeeded(host, chainId, generation))
      return over.map(({ name }) => dropDirectory(chainId, name)).some(Boolean)
    },
    async resume() {
      for (const name of await readdir(host.chainsDir)) if (name.startsWith(DROPPED)) remove(join(host.chainsDir, name))
    },
  }
}

interface Stored {
  chainId: string
  generation: number
  name: string
}

/** A directory of a chain, or one that was moved aside; nothing for all else. */
function storedAs(name: string): Stored[] {
  const plain = name.startsWith(STALE) ? name.slice(STALE.length) : name
  const [chainId = '', generation = '0', ...rest] = plain.split('.')
  const isChain = rest.length === 0 && validate(chainId) && /^\d{1,10}$/.test(generation)
  return isChain ? [{ chainId, generation: Number(generation), name }] : []
}

/** Follows no links, however deep the tree is. What its owner has locked is opened first, where that is the agent. */
async function removeTree(path: string): Promise<boolean> {
  if ((await runInBackground(['rm', '-rf', path])).code === 0) return true
  await runInBackground(['chmod', '-R', 'u+rwX', path])
  return (await runInBackground(['rm', '-rf', path])).code === 0
}
