import { linkSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { v4 as uuidv4, validate } from 'uuid'
import { readControlFile, writeControlFile } from '../../control-file.ts'

/**
 * Name of a file in the directory itself, so that all agents that share the directory read the same id, even if they
 * know it by different paths.
 */
const IDENTITY = '.reprise-store'
/** Name of a file in the agent's directory that remembers which store was where. */
const REMEMBERED = 'chain-store.json'
const IDENTITY_BYTES_MAX = 64

/** The directory holds another store than before. The message is for people. */
export class ChainStoreError extends Error {}

/**
 * Returns the id of the store in `dir`, which is created with its first use. Agents with the same id share what chains
 * store.
 *
 * @param byHand a person configured the directory. Then a store other than this agent's earlier one is refused, since a
 * file system that is not mounted looks like an empty directory
 * @throws ChainStoreError
 */
export function openChainStore({ dir, agentDir, byHand }: { dir: string; agentDir: string; byHand: boolean }): string {
  const path = join(dir, IDENTITY)
  const remembered = recall(agentDir, dir)
  const found = readIdentity(path)
  if (byHand && remembered !== null && found !== remembered) {
    const now = found === null ? 'there is no store in it' : `the store in it is ${found}`
    throw new ChainStoreError(
      `REPRISE_CHAINS_DIR (--chains-dir): ${now}, but this agent's was ${remembered}: is ${dir} mounted? ` +
        `If the store has been given up, remove ${join(agentDir, REMEMBERED)}`,
    )
  }
  const id = found ?? makeIdentity(path)
  if (id !== remembered) writeControlFile(join(agentDir, REMEMBERED), `${JSON.stringify({ dir, id })}\n`)
  return id
}

/**
 * Creates the id's file by `link`, so that the file is always complete, and only one of several agents that start at
 * once creates it.
 */
function makeIdentity(path: string): string {
  const draft = `${path}.${uuidv4()}`
  try {
    writeFileSync(draft, `${uuidv4()}\n`, { flag: 'wx', mode: 0o644 })
    linkSync(draft, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(draft, { force: true })
  }
  const id = readIdentity(path)
  if (id === null) throw new ChainStoreError(`${path} is not a regular file`)
  return id
}

function readIdentity(path: string): string | null {
  const text = readControlFile(path, IDENTITY_BYTES_MAX)?.trim()
  if (text === undefined) return null
  if (!validate(text)) throw new ChainStoreError(`${path} holds no store's id`)
  return text
}

function recall(agentDir: string, dir: string): string | null {
  const text = readControlFile(join(agentDir, REMEMBERED))
  if (text === null) return null
  const known = JSON.parse(text) as { dir?: unknown; id?: unknown }
  return known.dir === dir && typeof known.id === 'string' ? known.id : null
}
