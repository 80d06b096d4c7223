import { randomBytes } from 'node:crypto'
import { renameSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { validate } from 'uuid'
import { messageOf } from '../../../../observability/error-message.ts'
import type { ChainDirectories } from '../../executor.ts'
import { runInBackground } from './background-command.ts'
import { isChainNeeded } from './chain-directory.ts'
import { removeChainMark } from './chain-mark.ts'
import type { ChainHost } from './chain-host.ts'

/** No id of a chain begins like this. */
const DROPPED = '.dropped-'

/**
 * Directories of removed chains are renamed at once, beside the others, and removed one after the other. Another start
 * of the agent goes on with those that are left.
 */
export function createChainDrops(host: ChainHost): ChainDirectories & { resume(): Promise<void> } {
  let removals = Promise.resolve()

  function remove(path: string): void {
    removals = removals.then(async () => {
      if (host.book.closed || (await removeTree(path))) return
      host.log.warn({ path }, 'what a removed chain has stored could not be removed')
    })
  }

  return {
    store: host.chainStore,
    async list() {
      return (await readdir(host.chainsDir)).filter((name) => validate(name)).toSorted()
    },
    drop(chainId) {
      if (!validate(chainId) || isChainNeeded(host, chainId)) return false
      const aside = join(host.chainsDir, `${DROPPED}${randomBytes(8).toString('hex')}`)
      try {
        renameSync(join(host.chainsDir, chainId), aside)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
          host.log.warn({ chainId, error: messageOf(error) }, 'what a removed chain has stored could not be dropped')
        return false
      }
      removeChainMark(join(host.chainsDir, chainId))
      remove(aside)
      return true
    },
    async resume() {
      for (const name of await readdir(host.chainsDir)) if (name.startsWith(DROPPED)) remove(join(host.chainsDir, name))
    },
  }
}

/** Follows no links, however deep the tree is. What its owner has locked is opened first, where that is the agent. */
async function removeTree(path: string): Promise<boolean> {
  if ((await runInBackground(['rm', '-rf', path])).code === 0) return true
  await runInBackground(['chmod', '-R', 'u+rwX', path])
  return (await runInBackground(['rm', '-rf', path])).code === 0
}
