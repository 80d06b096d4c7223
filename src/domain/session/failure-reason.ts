import type { FailureCause } from './causes.ts'
import type { StatusData } from './failure.ts'

/** The reason of what a person ended, whatever its kernels reported. */
export const USER_CANCELLED = 'user-cancelled'

/** The name of what failed a session, once its cause is known: causes have several. */
export function failureReason(session: {
  failureCause: FailureCause | null
  terminatedBy: string | null
  statusData: unknown
}): string | null {
  if (session.failureCause === null) return null
  if (session.terminatedBy !== null) return USER_CANCELLED
  return (session.statusData as Partial<StatusData> | null)?.error?.name ?? null
}
