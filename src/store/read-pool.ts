import pg from 'pg'
import { RepriseError } from '../domain/errors.ts'
import { ANSWER_BYTES_MAX } from '../domain/limits.ts'
import {
  connectionSettings,
  type Database,
  parserFor,
  PATIENCE,
  type Patience,
  reportFaults,
  wasUnanswered,
} from './database.ts'
import { HeldClient } from './held-client.ts'
import { currentReader, readForNobody } from './reader.ts'
import { type Held, readStatement, type Use } from './snapshot.ts'
import { createTurns, type Turns } from './turns.ts'

/** Statements of one party that wait for a connection: those of all its requests, each with all its fields. */
const WAITING_STATEMENTS_MAX = 10_000
/** Connections for what the server reads for itself, such as tokens, whatever everybody else reads. */
const KEPT_CONNECTIONS = 2
const UNBOUNDED = 'BEGIN; SET LOCAL statement_timeout = 0'
const ALL_READERS = 'all readers'
const QUERY_CANCELED = '57014'

type Query = (...args: unknown[]) => Promise<unknown>

export interface ReadPoolOptions {
  connectionString: string
  connectionsMax: number
  patience?: Patience | undefined
  /** Statements outside transactions, and those of snapshots, that take longer are ended by the database. */
  readTimeoutMs?: number | undefined
  /** Called for errors on idle connections; the pool replaces those connections itself. */
  onError: (error: Error) => void
  /** Whether a setting of a connection lasts: not through a pooler in transaction mode. */
  keepsSettings: boolean
}

/**
 * The connections of the API, which has no others: whatever is read and written there, background work has its own. A
 * reader has at most half of them at a time, and all readers leave some. A statement whose reader has left is cancelled
 * in the database, and so is one that makes an answer larger than ANSWER_BYTES_MAX.
 *
 * Who holds a connection never waits for a second one: statements of a snapshot go to its connection, and those called
 * from within a transaction need no turn.
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
    })
    this.#timeoutMs = readTimeoutMs
    this.#keepsSettings = keepsSettings
    const bounds = { waitingMax: WAITING_STATEMENTS_MAX, withinMs: patience.connectMs }
    this.#ofParty = createTurns({ ...bounds, atOnce: Math.max(1, Math.floor(connectionsMax / 2)) })
    const kept = Math.min(KEPT_CONNECTIONS, Math.floor(connectionsMax / 2))
    this.#ofAll = createTurns({ ...bounds, atOnce: connectionsMax - kept })
    reportFaults(this, options.onError)
    // When a checked-out connection breaks, its statements reject. Without a listener the event would end the process.
    this.on('connect', (client) => {
      this.#opened += 1
      client.on('error', () => {})
      // Before all others on this connection; if it fails, so do they.
      if (keepsSettings && readTimeoutMs !== undefined)
        client.query(`SET statement_timeout = ${readTimeoutMs}`).catch(() => {})
    })
  }

  /** Statements of an operation that reads a snapshot go to its connection. */
  override query = ((...args: unknown[]) => {
    const use: Use<unknown> = (client) => (client.query as Query)(...args)
    return readStatement(() => this.#alone(use), use)
  }) as unknown as pg.Pool['query']

  /** Opens a snapshot, on a connection that is held until its end. */
  async begin(): Promise<Held> {
    const held = await this.#hold()
    const timeout = this.#timeoutMs === undefined ? '' : `; SET LOCAL statement_timeout = ${this.#timeoutMs}`
    try {
      await held.client.query(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY${timeout}`)
    } catch (error) {
      held.release(error as Error)
      throw error
    }
    let failure: Promise<never> | undefined
    return {
      // The database refuses whatever follows a failure. It says nothing of the failure, which is the reason of all.
      run: (use) =>
        failure ?? this.#untilLeft(held, use).catch((error: unknown) => (failure = Promise.reject(error as Error))),
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

  /** The same connections as a database. Transactions may take as long as any statement. */
  asDatabase(): Database {
    return {
      query: (text, values) => this.query({ text, values: values as unknown[], types: PARSERS }),
      queryWithin: (timeoutMs, text, values) => {
        const query = { text, values: values as unknown[], types: PARSERS }
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
          readForNobody(() =>
            work({ query: (text, values) => client.query({ text, values: values as unknown[], types: PARSERS }) }),
          ),
        ),
      opened: () => this.#opened,
      close: () => this.end(),
    }
  }

  /** Both Prisma and the database on it may do so. */
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

  /** A connection, once it is the turn of the reader. */
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

  /** @throws RepriseError VALIDATION_FAILED if the reader's answer has become too large with it */
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
      // A request may still meet the next statement of the connection.
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
  const message = `The answer is too large: more than ${ANSWER_BYTES_MAX} bytes. Ask for fewer items, or for less of each.`
  return new RepriseError('VALIDATION_FAILED', message)
}

const PARSERS = { getTypeParser: parserFor }
