import { ARGUMENT_BYTES_MAX, ENVIRON_BYTES_MAX } from '../limits.ts'
import { sealedValueBytes, type SealedVariable } from './sealed-variable.ts'

/** The end of a string, and a pointer. */
const EXEC_BYTES_PER_STRING = 9

/** As the system counts them when it starts a program. */
export function execBytes(strings: readonly string[]): number {
  return strings.reduce((sum, each) => sum + Buffer.byteLength(each) + EXEC_BYTES_PER_STRING, 0)
}

/** Null and other nonsense are for others to report. */
type Variable = { name?: string; value?: string } | null

export function environBytes(entries: readonly Variable[]): number {
  return execBytes(entries.map((entry) => `${entry?.name ?? ''}=${entry?.value ?? ''}`))
}

/** What secret variables take once they are opened. */
export function sealedEnvironBytes(entries: readonly SealedVariable[]): number {
  return entries.reduce((sum, { name, sealed }) => sum + execBytes([`${name}=`]) + sealedValueBytes(sealed), 0)
}

export function fitsArgument(value: string): boolean {
  return Buffer.byteLength(value) <= ARGUMENT_BYTES_MAX
}

/** Why a session cannot have this environment, with the number that is too large; null if it can. */
export function environFault(environ: readonly Variable[], secrets: readonly SealedVariable[]): string | null {
  const bytes = environBytes(environ) + sealedEnvironBytes(secrets)
  if (bytes <= ENVIRON_BYTES_MAX) return null
  return `its variables would take ${bytes} bytes, 10 more for each than name and value, and may take ${ENVIRON_BYTES_MAX}`
}
