import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { v7 as uuidv7 } from 'uuid'
import type { Database } from '../../store/database.ts'
import { insertToken } from '../../store/sql/access/tokens.sql.ts'
import { hashToken, isToken, newToken, tokenPrefix } from './tokens.ts'
import { writeOnce } from './write-once.ts'

export interface AdminToken {
  token: string
  /** File in which it is stored, readable by its owner only. */
  path: string
  /** Whether this call made it. */
  created: boolean
}

/**
 * The admin token of this data directory, created at the first start. The file is written first: after a crash in
 * between, or if the directory is used with another database, the next start stores the hash again.
 */
export async function ensureAdminToken(db: Database, dataDir: string): Promise<AdminToken> {
  const path = join(dataDir, 'admin-token')
  const existing = await read(path)
  const created = existing === null && (await writeOnce(path, `${newToken()}\n`))
  const token = existing ?? (await read(path))!
  const hash = hashToken(token)
  await insertToken(db, {
    id: uuidv7(),
    name: 'admin',
    hash,
    prefix: tokenPrefix(token),
    role: 'ADMIN',
    projectId: null,
  })
  return { token, path, created }
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
