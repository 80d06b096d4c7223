const STARTING: ReadonlySet<string> = new Set(['SCHEDULED', 'PREPARING', 'PULLING', 'PREPARED', 'CREATING'])

/** How far a session is until it runs, in words; null if it runs, has ended, or nothing is said. */
export function startNote({ status, statusReason }: { status: string; statusReason: string | null }): string | null {
  return STARTING.has(status) ? statusReason : null
}
