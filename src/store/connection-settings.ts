import type { PoolConfig } from 'pg'

/** How long the database may be silent before it counts as unreachable, in milliseconds. */
export interface Patience {
  /** Until a connection is open, or one of a pool is free. */
  connectMs: number
  /** Until a statement is answered: several times what any of ours takes. */
  queryMs: number
}

export const PATIENCE: Patience = { connectMs: 15_000, queryMs: 60_000 }

const KEEPALIVE_DELAY_MS = 10_000
/** A new connection looks everything up again: its first statements cost several times what later ones do. */
const IDLE_MAX_MS = 60_000

/**
 * A peer may vanish without closing its connections: a machine that loses power, a firewall that forgets them. Keep-alive
 * finds that out within 20 s where nothing is on its way. Otherwise, or if the peer accepts data and never answers, only
 * the limits end a wait that would hold up its service for a quarter of an hour, or for ever.
 */
export function connectionSettings({ connectMs, queryMs }: Patience = PATIENCE): PoolConfig {
  return {
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEPALIVE_DELAY_MS,
    connectionTimeoutMillis: connectMs,
    idleTimeoutMillis: IDLE_MAX_MS,
    query_timeout: queryMs,
  }
}

/** Whether the database left a statement unanswered: the connection is of no use any more. */
export function wasUnanswered(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout'
}
