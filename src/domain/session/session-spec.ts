import type { SessionType } from './lifecycle.ts'
import { ARGUMENT_BYTES_MAX, ENVIRON_BYTES_MAX } from '../limits.ts'
import { sealedValueBytes, type SealedVariable } from './kernel-environment.ts'

/** From 0 to 100; the higher is placed first. */
export const PRIORITY_DEFAULT = 10

/** What a person can do with sessions, one by one or with many at once. */
export const SESSION_ACTIONS = ['RETRY_NOW', 'CANCEL_RETRY', 'TERMINATE', 'RESUBMIT'] as const
export type SessionAction = (typeof SESSION_ACTIONS)[number]

/** Which sessions a resource group takes. */
export interface GroupTypes {
  /** As it was configured. */
  allowed: readonly SessionType[]
  /** It has agents, and ports of what runs on them cannot be reached. */
  isPortless: boolean
}

/** Why the group takes no such session, in words; undefined if it does. */
export function refuseType(group: string, { allowed, isPortless }: GroupTypes, type: SessionType): string | undefined {
  if (!allowed.includes(type)) return `resource group ${group} takes ${allowed.join(', ')} only`
  if (isPortless && type !== 'BATCH')
    return `resource group ${group} takes BATCH only: ports of what runs on its agents cannot be reached`
  return undefined
}

/**
 * A session's creation id is its client's idempotency key. Children derive theirs from that of their chain's first
 * session: two dispatchers derive the same one.
 */

const DERIVED = /:(?:retry|resubmission):\d+$/

export const NOT_DERIVED = 'must not end in :retry:<number> or :resubmission:<number>, which name retries'

/** False if the server itself could derive this creation id for a child, so that a client's session must not have it. */
export function isClientsCreationId(creationId: string): boolean {
  return !DERIVED.test(creationId)
}

/** Unique in the chain, because attempts are. */
export function retryCreationId(chainCreationId: string, attempt: number): string {
  return `${chainCreationId}:retry:${attempt - 1}`
}

export function resubmissionCreationId(chainCreationId: string, epoch: number): string {
  return `${chainCreationId}:resubmission:${epoch}`
}

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
function sealedEnvironBytes(entries: readonly SealedVariable[]): number {
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
