import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { link, mkdir, open, readFile, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { SEALED_KEY_ID_BYTES, SEALED_NONCE_BYTES, SEALED_TAG_BYTES } from '../../domain/session/kernel-environment.ts'
import type { Queryable } from '../../store/database.ts'
import { adoptSecretsKey, noteSecretsKey } from '../../store/sql/server.sql.ts'

/**
 * Writes a file that only its owner can read, completely or not at all. If two servers start at once, one of them
 * writes it. Returns false if the file existed already, or the other server wrote it.
 */
export async function writeOnce(path: string, text: string): Promise<boolean> {
  const draft = `${path}.${process.pid}-${randomBytes(4).toString('hex')}`
  await mkdir(dirname(path), { recursive: true })
  try {
    const file = await open(draft, 'wx', 0o600)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await link(draft, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    await rm(draft, { force: true })
  }
}

/**
 * Encrypts values that have to be read again but must not be readable in the database, its dumps and its logs:
 * AES-256-GCM. A sealed value consists of the id of its key (8 bytes), a nonce (12), the ciphertext and the tag (16).
 * `about` names the purpose of the value and is authenticated: a value that is moved elsewhere cannot be opened there.
 *
 * Values are sealed with the first key of the file, and opened with the key that sealed them. So a key can be replaced:
 * the old one stays below the new one.
 */
export interface SecretBox {
  /** The id of the key that seals. */
  readonly keyId: string
  /** Whether the file contains the key with this id. */
  knows(keyId: string): boolean
  seal(value: Uint8Array, about: string): Buffer
  /** @throws SecretKeyError */
  open(sealed: Uint8Array, about: string): Buffer
  /** Computes a digest that is equal for equal values with the same `about`. */
  digest(value: Uint8Array, about: string): Buffer
}

/** Thrown if none of the server's keys opens a value. */
export class SecretKeyError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'SecretKeyError'
  }
}

export const SECRET_KEY_BYTES = 32
/** Length of a digest: 128 bits, so that different values have different digests in practice. */
const DIGEST_BYTES = 16

interface Key {
  id: string
  encryption: Buffer
  digests: Buffer
}

/** Creates a box. `keys` has at least one key of SECRET_KEY_BYTES each; the first one seals. */
export function createSecretBox(keys: readonly Uint8Array[]): SecretBox {
  const known = new Map(keys.map((key) => deriveKeys(key)).map((key) => [key.id, key]))
  const [current] = known.values()
  if (!current) throw new TypeError('a key is needed')
  return {
    keyId: current.id,
    knows: (keyId) => known.has(keyId),
    seal(value, about) {
      const nonce = randomBytes(SEALED_NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', current.encryption, nonce).setAAD(Buffer.from(about))
      const text = Buffer.concat([cipher.update(value), cipher.final()])
      return Buffer.concat([Buffer.from(current.id, 'hex'), nonce, text, cipher.getAuthTag()])
    },
    open(sealed, about) {
      const bytes = Buffer.from(sealed)
      const keyId = bytes.subarray(0, SEALED_KEY_ID_BYTES).toString('hex')
      const key = known.get(keyId)
      if (!key) {
        throw new SecretKeyError(
          `It was encrypted with the key ${keyId}, and the file of this server has ${[...known.keys()].join(', ')}.`,
        )
      }
      const nonce = bytes.subarray(SEALED_KEY_ID_BYTES, SEALED_KEY_ID_BYTES + SEALED_NONCE_BYTES)
      const text = bytes.subarray(SEALED_KEY_ID_BYTES + SEALED_NONCE_BYTES, -SEALED_TAG_BYTES)
      try {
        const decipher = createDecipheriv('aes-256-gcm', key.encryption, nonce).setAAD(Buffer.from(about))
        decipher.setAuthTag(bytes.subarray(-SEALED_TAG_BYTES))
        return Buffer.concat([decipher.update(text), decipher.final()])
      } catch (error) {
        throw new SecretKeyError('It was changed since it was encrypted, or belongs elsewhere.', { cause: error })
      }
    },
    digest: (value, about) =>
      createHmac('sha256', current.digests).update(`${about}\0`).update(value).digest().subarray(0, DIGEST_BYTES),
  }
}

const HOW_TO_MAKE = 'Make one with: (umask 077; openssl rand -base64 32 > FILE)'

/**
 * Reads the keys of the file that REPRISE_SECRETS_KEY_FILE names, or of the one in the data directory, which the first
 * start creates. Each line is a key, 32 bytes in base64; the first one encrypts.
 * @throws Error with a message for people, if a named file is missing or does not contain keys
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
    throw new Error(`${path} contains no key: it needs ${SECRET_KEY_BYTES} bytes in base64, on a line. ${HOW_TO_MAKE}`)
  }
  return { ...createSecretBox(keys), path }
}

/**
 * Checks that all servers of a database use the same key, because each server has to read what another one encrypts.
 * The first server to start records its key's id in the database. If the first key in a server's file is another one,
 * but the file also contains the recorded key, the server records the id of its first key instead.
 * @throws Error with a message for people
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
      'docs/security.md says what to do if it is lost.',
  )
}

function deriveKeys(key: Uint8Array): Key {
  const derive = (use: string) => Buffer.from(hkdfSync('sha256', key, '', `reprise ${use}`, SECRET_KEY_BYTES))
  const id = createHash('sha256')
    .update(derive('key id'))
    .digest('hex')
    .slice(0, 2 * SEALED_KEY_ID_BYTES)
  return { id, encryption: derive('encryption'), digests: derive('digests') }
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
  if (named) throw new Error(`REPRISE_SECRETS_KEY_FILE names ${path}, which does not exist. ${HOW_TO_MAKE}`)
  await writeOnce(path, `${randomBytes(SECRET_KEY_BYTES).toString('base64')}\n`)
  return readFile(path, 'utf8')
}
