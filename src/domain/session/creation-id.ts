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
