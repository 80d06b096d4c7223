import pg from 'pg'
import { readStatement } from './snapshot.ts'

type Query = (...args: unknown[]) => Promise<unknown>

/** The pool that Prisma reads from: statements of an operation that reads a snapshot go to its connection. */
export class ReadPool extends pg.Pool {
  constructor({ readTimeoutMs, ...config }: pg.PoolConfig & { readTimeoutMs?: number | undefined }) {
    super(config)
    // When a checked-out connection breaks, its statements reject. Without a listener the event would end the process.
    this.on('connect', (client) => {
      client.on('error', () => {})
      // Before all others on this connection; if it fails, so do they.
      if (readTimeoutMs !== undefined) client.query(`SET statement_timeout = ${readTimeoutMs}`).catch(() => {})
    })
  }

  override query = ((...args: unknown[]) =>
    readStatement(
      () => (super.query as Query)(...args),
      (client) => (client.query as Query)(...args),
    )) as unknown as pg.Pool['query']
}
