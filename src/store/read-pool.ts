import pg from 'pg'
import { RepriseError } from '../domain/errors.ts'
import { ANSWER_BYTES_MAX } from '../domain/limits.ts'
import {
  connectionSettings,
  type Database,
  discardOldPlans,
  parserFor,
  PATIENCE,
  type Patience,
  planName,
  reportFaults,
  wasUnanswered,
} from './database.ts'
import { HeldClient } from './held-client.ts'
import { currentReader, readForNobody } from './reader.ts'
import { type Held, readStatement, type Use } from './snapshot.ts'
import { createTurns, type Turns } from './turns.ts'
import { describeBytes } from '../domain/amounts.ts'

/** Queued statements of one party: those of all its requests, each with all its fields. */
const WAITING_STATEMENTS_MAX = 10_000
/** Connections kept free for the server's own reads, such as tokens. */
const KEPT_CONNECTIONS = 2
const UNBOUNDED = 'BEGIN; SET LOCAL statement_timeout = 0'
const ALL_READERS = 'all readers'
const QUERY_CANCELED = '57014'

type Query = (...args: unknown[]) => Promise<unknown>

export interface ReadPoolOptions {
  connectionString: string
  connectionsMax: number
  patience?: Patience | undefined
  /** Statements outside transactions, and those of snapshots, are cancelled by the database if they take longer. */
  readTimeoutMs?: number | undefined
  /** Called for errors on idle connections; the pool replaces those connections itself. */
  onError: (error: Error) => void
  /** Whether a connection keeps its settings and prepared statements; not behind a pooler in transaction mode. */
  keepsSettings: boolean
}

/**
 * The connections of the API, used for all its reads and writes; background work has its own. One party uses at most
 * half of them at a time, and all parties together leave some free. A statement whose client has left is cancelled in
 * the database, and so is one that makes an answer larger than ANSWER_BYTES_MAX.
 *
 * A caller that holds a connection never waits for a second one: statements of a snapshot go to its connection, and
 * those called from within a transaction are not queued.
 */
export class ReadPool extends pg.Pool {
  readonly #ofParty: Turns
  readonly #ofAll: Turns
  readonly #timeoutMs: number | undefined
  readonly #keepsSettings: boolean
  #ended: Promise<void> | undefined
  #opened = 0

  constructor(options: ReadPoolOptions) {
    const { connectionString, connectionsMax, patience = PATIENCE, readTimeoutMs, keepsSettings } = options
    super({
      ...connectionSettings(patience),
      connectionString,
      max: connectionsMax,
      application_name: 'reprise-read',
      // Statements are sent without waiting for the answer to the one before.
      pipeline: true,
    })
    this.#timeoutMs = readTimeoutMs
    this.#keepsSettings = keepsSettings
    const bounds = { waitingMax: WAITING_STATEMENTS_MAX, withinMs: patience.connectMs }
    this.#ofParty = createTurns({ ...bounds, atOnce: Math.max(1, Math.floor(connectionsMax / 2)) })
    const kept = Math.min(KEPT_CONNECTIONS, Math.floor(connectionsMax / 2))
    this.#ofAll = createTurns({ ...bounds, atOnce: connectionsMax - kept })
    reportFaults(this, options.onError)
    if (keepsSettings) discardOldPlans(this)
    // If a checked-out connection breaks, its statements reject. Without a listener the event would end the process.
    this.on('connect', (client) => {
      this.#opened += 1
      client.on('error', () => {})
      // Sent before all other statements on this connection; if it fails, so do they.
      if (keepsSettings && readTimeoutMs !== undefined)
        client.query(`SET statement_timeout = ${readTimeoutMs}`).catch(() => {})
    })
  }

  /** Runs a statement, on the snapshot's connection if the operation reads from a snapshot. */
  override query = ((...args: unknown[]) => {
    const use: Use<unknown> = (client) => (client.query as Query)(...args)
    return readStatement(() => this.#alone(use), use)
  }) as unknown as pg.Pool['query']

  /** Opens a snapshot, on a connection that is held until its end. */
  async begin(): Promise<Held> {
    const held = await this.#hold()
    const timeout = this.#timeoutMs === undefined ? '' : `; SET LOCAL statement_timeout = ${this.#timeoutMs}`
    // Not awaited: it travels with the first statement. Where it fails, that statement has only read.
    const begun = held.client.query(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY${timeout}`)
    begun.catch(() => {})
    let failure: Promise<never> | undefined
    return {
      // After a failure the database refuses all later statements without naming the cause, so the first failure is
      // returned for all of them.
      run: (use) =>
        failure ??
        this.#untilLeft(held, async (client) => {
          const found = await use(client)
          await begun
          return found
        }).catch((error: unknown) => (failure = Promise.reject(error as Error))),
      async end() {
        try {
          if (!held.spoilt) await held.client.query('COMMIT')
          held.release()
        } catch (error) {
          held.release(error as Error)
        }
      },
    }
  }

  /** The same connections as a `Database`. Its transactions have no read timeout. */
  asDatabase(): Database {
    const statement = (text: string, values: readonly unknown[] | undefined) => {
      const name = this.#keepsSettings ? planName(text) : undefined
      return { text, values: values as unknown[], types: PARSERS, ...(name !== undefined && { name }) }
    }
    return {
      query: (text, values) => this.query(statement(text, values)),
      queryWithin: (timeoutMs, text, values) => {
        const query = statement(text, values)
        return readStatement(
          () =>
            this.#inTransaction(`BEGIN; SET LOCAL statement_timeout = ${timeoutMs}`, (held) =>
              this.#untilLeft(held, (client) => client.query(query)),
            ),
          async (client) => {
            await client.query(`SET LOCAL statement_timeout = ${timeoutMs}`)
            const answer = await client.query(query)
            await client.query(`SET LOCAL statement_timeout = ${this.#timeoutMs ?? 0}`)
            return answer
          },
        )
      },
      transaction: (work) =>
        this.#inTransaction(UNBOUNDED, ({ client }) =>
          readForNobody(() => work({ query: (text, values) => client.query(statement(text, values)) })),
        ),
      opened: () => this.#opened,
      close: () => this.end(),
    }
  }

  /** Closes the pool once, although both Prisma and the `Database` call it. */
  override end = () => (this.#ended ??= super.end())

  async #inTransaction<T>(begin: string, work: (held: HeldClient) => Promise<T>): Promise<T> {
    const held = await this.#hold()
    const { client } = held
    let fault: Error | undefined
    try {
      await client.query(begin)
      const result = await work(held)
      await client.query('COMMIT')
      return result
    } catch (error) {
      // A connection that cannot roll back is broken: the pool must not hand it out again.
      if (wasUnanswered(error)) fault = error as Error
      else await client.query('ROLLBACK').catch((broken: Error) => (fault = broken))
      throw error
    } finally {
      held.release(fault)
    }
  }

  async #alone<R>(use: Use<R>): Promise<R> {
    if (currentReader()?.writes) return this.#inTransaction(UNBOUNDED, ({ client }) => use(client))
    const held = await this.#hold()
    let fault: Error | undefined
    const timer =
      this.#keepsSettings || this.#timeoutMs === undefined
        ? undefined
        : setTimeout(() => held.cancel(), this.#timeoutMs)
    try {
      return await this.#untilLeft(held, use)
    } catch (error) {
      if (wasUnanswered(error)) fault = error as Error
      throw error
    } finally {
      clearTimeout(timer)
      await held.settled()
      held.release(fault)
    }
  }

  /** Checks out a connection when it is the reader's turn. */
  async #hold(): Promise<HeldClient> {
    const reader = currentReader()
    if (!reader) return new HeldClient(await this.connect(), () => {})
    const leave = await this.#turn(reader.party)
    try {
      reader.signal?.throwIfAborted()
      return new HeldClient(await this.connect(), leave)
    } catch (error) {
      leave()
      throw error
    }
  }

  async #turn(party: string): Promise<() => void> {
    const leaveOwn = await this.#ofParty.take(party)
    try {
      const leaveAll = await this.#ofAll.take(ALL_READERS)
      return () => {
        leaveAll()
        leaveOwn()
      }
    } catch (error) {
      leaveOwn()
      throw error
    }
  }

  /**
   * Runs a statement until it ends or its reader leaves. @throws RepriseError VALIDATION_FAILED if it makes the
   * reader's answer too large
   */
  async #untilLeft<R>(held: HeldClient, use: Use<R>): Promise<R> {
    const { signal, answer } = currentReader() ?? {}
    signal?.throwIfAborted()
    const leave = () => held.cancel()
    signal?.addEventListener('abort', leave, { once: true })
    const stopCounting =
      answer &&
      held.onBytes((bytes) => {
        answer.bytes += bytes
        if (answer.bytes > ANSWER_BYTES_MAX) leave()
      })
    try {
      const found = await use(held.client)
      // A cancel request may still arrive during the connection's next statement.
      if (held.requests > 0) held.spoilt = true
      if (answer && answer.bytes > ANSWER_BYTES_MAX) throw tooLarge()
      return found
    } catch (error) {
      const ended = (error as { code?: unknown }).code === QUERY_CANCELED
      if (held.requests > (ended ? 1 : 0)) held.spoilt = true
      throw ended && answer && answer.bytes > ANSWER_BYTES_MAX ? tooLarge() : error
    } finally {
      stopCounting?.()
      signal?.removeEventListener('abort', leave)
      await held.settled()
    }
  }
}

function tooLarge(): RepriseError {
  const message = `The answer is too large: more than ${describeBytes(ANSWER_BYTES_MAX)}. Ask for fewer items, or for less of each.`
  return new RepriseError('VALIDATION_FAILED', message)
}

const PARSERS = { getTypeParser: parserFor }
