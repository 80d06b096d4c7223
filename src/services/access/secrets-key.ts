import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Queryable } from '../../store/database.ts'
import { adoptSecretsKey, noteSecretsKey } from '../../store/sql/access/secrets-key.sql.ts'
import { createSecretBox, SECRET_KEY_BYTES, type SecretBox } from './secret-box.ts'
import { writeOnce } from './write-once.ts'

const HOW_TO_MAKE = 'Make one with: (umask 077; openssl rand -base64 32 > FILE)'

/**
 * The keys of the file that REPRISE_SECRETS_KEY_FILE names, or of the one in the data directory, which the first start
 * makes. One key a line, 32 bytes in base64; the first one encrypts.
 * @throws Error for people, where a named file is missing and where what is there is no key
 */
export async function readSecretsKey(options: {
  file: string | undefined
  dataDir: string
}): Promise<SecretBox & { path: string }> {
  const path = options.file === undefined ? join(options.dataDir, 'secrets-key') : resolve(options.file)
  const text = (await read(path)) ?? (await make(path, options.file !== undefined))
  const lines = text.split('\n').map((line) => line.trim())
  const keys = lines.filter((line) => line !== '' && !line.startsWith('#')).map((line) => Buffer.from(line, 'base64'))
  if (keys.length === 0 || keys.some(({ length }) => length !== SECRET_KEY_BYTES)) {
    throw new Error(`${path} holds no key: it needs ${SECRET_KEY_BYTES} bytes in base64, on a line. ${HOW_TO_MAKE}`)
  }
  return { ...createSecretBox(keys), path }
}

async function read(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw new Error(`The key of the secrets could not be read: ${(error as Error).message}`, { cause: error })
  }
}

async function make(path: string, named: boolean): Promise<string> {
  if (named) throw new Error(`REPRISE_SECRETS_KEY_FILE names ${path}, which is not there. ${HOW_TO_MAKE}`)
  await writeOnce(path, `${randomBytes(SECRET_KEY_BYTES).toString('base64')}\n`)
  return readFile(path, 'utf8')
}

/**
 * All servers of a database need the same key: what one of them encrypts, any other has to read. The first one to start
 * notes the id of its key there; a server whose file has another key first replaces it, if it has the noted one as well.
 * @throws Error for people
 */
export async function assertSharedKey(
  db: Queryable,
  { keyId, knows, path }: SecretBox & { path: string },
): Promise<void> {
  const noted = await noteSecretsKey(db, keyId)
  if (noted === keyId) return
  if (knows(noted)) return adoptSecretsKey(db, keyId, noted)
  throw new Error(
    `The secrets in this database are encrypted with the key ${noted}, and ${path} holds ${keyId}. ` +
      'All servers of a database share one key: copy the file from a server that has it, and name it with REPRISE_SECRETS_KEY_FILE. ' +
      'docs/security.md says what to do where it is lost.',
  )
}
