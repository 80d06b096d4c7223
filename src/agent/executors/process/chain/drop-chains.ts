import { randomBytes } from 'node:crypto'
import { readdirSync, renameSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { validate } from 'uuid'
import { messageOf } from '../../../../observability/error-message.ts'
import type { ChainDirectories } from '../../executor.ts'
import { runInBackground } from './background-command.ts'
import { chainOf, isChainNeeded } from './chain-directory.ts'
import { removeChainMark } from './chain-mark.ts'
import type { ChainHost } from './chain-host.ts'

/** No id of a chain begins like this. */
const DROPPED = '.dropped-'

/**
 * All directories of removed chains, of each generation, are renamed at once, beside the others, and removed one after
 * the other. Another start of the agent goes on with those that are left.
 */
export function createChainDrops(host: ChainHost): ChainDirectories & { resume(): Promise<void> } {
  let removals = Promise.resolve()
  /** Of the last listing: the server answers to that, and many chains may have been removed at once. */
  let listed = new Map<string, string[]>()

  function remove(path: string): void {
    removals = removals.then(async () => {
      if (host.book.closed || (await removeTree(path))) return
      host.log.warn({ path }, 'what a removed chain has stored could not be removed')
    })
  }

  function dropDirectory(name: string): boolean {
    const aside = join(host.chainsDir, `${DROPPED}${randomBytes(8).toString('hex')}`)
    try {
      renameSync(join(host.chainsDir, name), aside)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
        host.log.warn({ name, error: messageOf(error) }, 'what a removed chain has stored could not be dropped')
      return false
    }
    removeChainMark(join(host.chainsDir, name))
    remove(aside)
    return true
  }

  return {
    store: host.chainStore,
    async list() {
      listed = byChain(await readdir(host.chainsDir))
      return [...listed.keys()].toSorted()
    },
    drop(chainId) {
      if (!validate(chainId) || isChainNeeded(host, chainId)) return false
      const names = listed.get(chainId) ?? byChain(readdirSync(host.chainsDir)).get(chainId) ?? []
      return names.filter((name) => dropDirectory(name)).length > 0
    },
    async resume() {
      for (const name of await readdir(host.chainsDir)) if (name.startsWith(DROPPED)) remove(join(host.chainsDir, name))
    },
  }
}

/** Names of directories, by the ids of their chains. */
function byChain(names: readonly string[]): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const name of names) {
    const chainId = chainOf(name)
    if (validate(chainId)) found.set(chainId, [...(found.get(chainId) ?? []), name])
  }
  return found
}

/** Follows no links, however deep the tree is. What its owner has locked is opened first, where that is the agent. */
async function removeTree(path: string): Promise<boolean> {
  if ((await runInBackground(['rm', '-rf', path])).code === 0) return true
  await runInBackground(['chmod', '-R', 'u+rwX', path])
  return (await runInBackground(['rm', '-rf', path])).code === 0
}
