/** A secret variable of an environment as it is stored: encrypted, and with what tells it from another value. */
export interface SealedVariable {
  name: string
  /** Ciphertext with the id of its key, base64. */
  sealed: string
  /** Keyed digest of the value, base64: equal for equal values, and of no use without the key. */
  digest: string
}

/** What encryption adds to a value: the id of its key, a nonce, and a tag. */
export const SEALED_KEY_ID_BYTES = 8
export const SEALED_NONCE_BYTES = 12
export const SEALED_TAG_BYTES = 16

/** How long the value is, which its ciphertext shows. */
export function sealedValueBytes(sealed: string): number {
  return Buffer.byteLength(sealed, 'base64') - SEALED_KEY_ID_BYTES - SEALED_NONCE_BYTES - SEALED_TAG_BYTES
}

export function secretNames(stored: unknown): string[] {
  return (stored as readonly SealedVariable[]).map(({ name }) => name)
}

/**
 * The given variables replace those of the same name among the existing ones, which keep their positions; new ones come
 * last. An existing one with the same value stays as it is, so that nothing seems to have changed.
 */
export function mergeSealed(
  before: readonly SealedVariable[],
  given: readonly SealedVariable[] = [],
): SealedVariable[] {
  const values = new Map(before.map((variable) => [variable.name, variable]))
  for (const variable of given) {
    if (values.get(variable.name)?.digest !== variable.digest) values.set(variable.name, variable)
  }
  return [...values.values()]
}
