import type { SessionType } from './lifecycle.ts'
import { ARGUMENT_BYTES_MAX, ENVIRON_BYTES_MAX } from '../limits.ts'
import { sealedValueBytes, type SealedVariable } from './kernel-environment.ts'

/** The default priority. Priorities are from 0 to 100; the higher is placed first. */
export const PRIORITY_DEFAULT = 10

/** The actions of a person on sessions, on a single one or on many at once. */
export const SESSION_ACTIONS = ['RETRY_NOW', 'CANCEL_RETRY', 'TERMINATE', 'RESUBMIT'] as const
export type SessionAction = (typeof SESSION_ACTIONS)[number]

/** The session types that a resource group takes. */
export interface GroupTypes {
  /** The configured types. */
  allowed: readonly SessionType[]
  /** Whether the group has agents, but ports of their kernels cannot be reached. */
  isPortless: boolean
}

/** Explains why the group does not take sessions of this type; undefined if it does. */
export function refuseType(group: string, { allowed, isPortless }: GroupTypes, type: SessionType): string | undefined {
  if (!allowed.includes(type)) return `resource group ${group} takes ${allowed.join(', ')} only`
  if (isPortless && type !== 'BATCH')
    return `resource group ${group} takes BATCH only: ports of what runs on its agents cannot be reached`
  return undefined
}

/**
 * The end of a derived creation id. A session's creation id is its client's idempotency key. Children derive theirs from
 * that of the chain's first session, so that two dispatchers derive the same one.
 */
const DERIVED = /:(?:retry|resubmission):\d+$/

export const NOT_DERIVED = 'must not end in :retry:<number> or :resubmission:<number>, which name retries'

/** False if the server itself could derive this creation id for a child: a client's session must not have it. */
export function isClientsCreationId(creationId: string): boolean {
  return !DERIVED.test(creationId)
}

/** The creation id of an automatic child, unique in the chain because the numbers of attempts are. */
export function retryCreationId(chainCreationId: string, attempt: number): string {
  return `${chainCreationId}:retry:${attempt - 1}`
}

export function resubmissionCreationId(chainCreationId: string, epoch: number): string {
  return `${chainCreationId}:resubmission:${epoch}`
}

/** One byte for the end of a string, and eight for a pointer. */
const EXEC_BYTES_PER_STRING = 9

/** Bytes of these strings as Linux counts them when it starts a program. */
export function execBytes(strings: readonly string[]): number {
  return strings.reduce((sum, each) => sum + Buffer.byteLength(each) + EXEC_BYTES_PER_STRING, 0)
}

/** An entry that may still be invalid; such entries are reported elsewhere. */
type Variable = { name?: string; value?: string } | null

export function environBytes(entries: readonly Variable[]): number {
  return execBytes(entries.map((entry) => `${entry?.name ?? ''}=${entry?.value ?? ''}`))
}

export function fitsArgument(value: string): boolean {
  return Buffer.byteLength(value) <= ARGUMENT_BYTES_MAX
}

/** Explains why a session cannot have this environment, with the size; null if it can. */
export function environFault(environ: readonly Variable[], secrets: readonly SealedVariable[]): string | null {
  const bytes = environBytes(environ) + sealedEnvironBytes(secrets)
  if (bytes <= ENVIRON_BYTES_MAX) return null
  return `its variables would take ${bytes} bytes, 10 more for each than name and value, and may take ${ENVIRON_BYTES_MAX}`
}

/** Bytes of the secret variables once they are decrypted. */
function sealedEnvironBytes(entries: readonly SealedVariable[]): number {
  return entries.reduce((sum, { name, sealed }) => sum + execBytes([`${name}=`]) + sealedValueBytes(sealed), 0)
}
