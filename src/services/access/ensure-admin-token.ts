import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { v7 as uuidv7 } from 'uuid'
import type { Database } from '../../store/database.ts'
import { hasAdminToken, insertToken, lockAdminTokens, revokeAdminTokens } from '../../store/sql/access/tokens.sql.ts'
import { hashToken, isToken, newToken, tokenPrefix } from './tokens.ts'
import { writeOnce } from './write-once.ts'

export interface AdminToken {
  /** Null if the servers of this database have one that this directory does not hold. */
  token: string | null
  /** File in which it is stored, readable by its owner only. */
  path: string
  /** Whether this call made it. */
  created: boolean
}

export type AdminTokenPolicy =
  /** The database is this directory's own: whoever removes the file wants another. */
  | 'one-per-directory'
  /** Others may serve the database: one is made only if there is none. */
  | 'one-per-database'
  /** Those that there are have been lost: they end, and this directory gets a new one. */
  | 'replace'

/**
 * The admin token of this data directory, created at the first start. The file is written first: after a crash in
 * between, or if the directory is used with another database, the next start stores the hash again. A lock in the
 * database makes servers that start at once take turns, so that one of them makes it.
 */
export async function ensureAdminToken(db: Database, dataDir: string, policy: AdminTokenPolicy): Promise<AdminToken> {
  const path = join(dataDir, 'admin-token')
  return db.transaction(async (tx) => {
    await lockAdminTokens(tx)
    if (policy === 'replace') {
      await revokeAdminTokens(tx)
      await rm(path, { force: true })
    }
    const existing = await read(path)
    if (existing === null && policy === 'one-per-database' && (await hasAdminToken(tx))) {
      return { token: null, path, created: false }
    }
    const created = existing === null && (await writeOnce(path, `${newToken()}\n`))
    const token = existing ?? (await read(path))!
    await insertToken(tx, {
      id: uuidv7(),
      name: 'admin',
      hash: hashToken(token),
      prefix: tokenPrefix(token),
      role: 'ADMIN',
      projectId: null,
    })
    return { token, path, created }
  })
}

async function read(path: string): Promise<string | null> {
  try {
    const token = (await readFile(path, 'utf8')).trim()
    if (isToken(token)) return token
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  throw new Error(`${path} holds no token. Remove it, and the next start makes a new one.`)
}
