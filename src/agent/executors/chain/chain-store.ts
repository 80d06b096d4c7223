import { linkSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { v4 as uuidv4, validate } from 'uuid'
import { readControlFile, writeControlFile } from '../../control-file.ts'

/** In the directory itself, so that all who see the directory see the same, whatever its path is for them. */
const IDENTITY = '.reprise-store'
/** In the agent's directory: which store was where. */
const REMEMBERED = 'chain-store.json'
const IDENTITY_BYTES_MAX = 64

/** The directory is not the one that it was. The message is for people. */
export class ChainStoreError extends Error {}

/**
 * The id of the store in `dir`, which is made with its first use. Agents with the same one share what chains store.
 *
 * @param byHand somebody named the directory: another store where this agent had its own is refused, since a file
 *   system that is not mounted looks like an empty directory
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

/** Linked, not written: whoever sees the file sees all of it, and of several agents that begin at once one makes it. */
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
