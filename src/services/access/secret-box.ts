import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { SEALED_KEY_ID_BYTES, SEALED_NONCE_BYTES, SEALED_TAG_BYTES } from '../../domain/session/sealed-variable.ts'

/**
 * Encrypts what has to be read again but should not lie in the database, its dumps and its logs: AES-256-GCM. A sealed
 * value is the id of its key (8 bytes), a nonce (12), the ciphertext and the tag (16). `about` names what the value is
 * for, and is authenticated: a value that is moved elsewhere does not open there.
 *
 * Values are sealed with the first key of the file, and opened with whichever of them it was: so that a key can be
 * replaced, the old one goes on to stand below the new one.
 */
export interface SecretBox {
  /** Of the key that seals. */
  readonly keyId: string
  /** Whether the file holds the key of this id. */
  knows(keyId: string): boolean
  seal(value: Uint8Array, about: string): Buffer
  /** @throws SecretKeyError */
  open(sealed: Uint8Array, about: string): Buffer
  /** Equal for equal values about the same. */
  digest(value: Uint8Array, about: string): Buffer
}

/** A value that none of the server's keys opens. */
export class SecretKeyError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'SecretKeyError'
  }
}

export const SECRET_KEY_BYTES = 32
/** Of a digest: enough to compare the values of one name, too few to look like the values. */
const DIGEST_BYTES = 16

interface Key {
  id: string
  encryption: Buffer
  digests: Buffer
}

/** `keys`: of SECRET_KEY_BYTES each, at least one, the one that seals first. */
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

function deriveKeys(key: Uint8Array): Key {
  const derive = (use: string) => Buffer.from(hkdfSync('sha256', key, '', `reprise ${use}`, SECRET_KEY_BYTES))
  const id = createHash('sha256')
    .update(derive('key id'))
    .digest('hex')
    .slice(0, 2 * SEALED_KEY_ID_BYTES)
  return { id, encryption: derive('encryption'), digests: derive('digests') }
}
