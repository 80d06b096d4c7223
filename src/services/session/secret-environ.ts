import type { SealedVariable } from '../../domain/session/sealed-variable.ts'
import type { SecretBox } from '../access/secret-box.ts'

/** Secret variables as clients give them, and as they are stored. Nobody but the kernels that start reads them again. */

export function sealEnviron(box: SecretBox, environ: readonly { name: string; value: string }[]): SealedVariable[] {
  return environ.map(({ name, value }) => {
    const bytes = Buffer.from(value)
    return {
      name,
      sealed: box.seal(bytes, about(name)).toString('base64'),
      digest: box.digest(bytes, about(name)).toString('base64'),
    }
  })
}

/** @throws SecretKeyError */
export function openEnviron(box: SecretBox, sealed: readonly SealedVariable[]): { name: string; value: string }[] {
  return sealed.map(({ name, sealed: text }) => ({
    name,
    value: box.open(Buffer.from(text, 'base64'), about(name)).toString('utf8'),
  }))
}

/** Not the session's id: its children inherit the values as they are. */
function about(name: string): string {
  return `environ ${name}`
}
