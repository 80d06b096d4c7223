import type { ExecutionResult } from 'graphql-ws/client'
import {
  ApiError,
  ClientConfigurationError,
  ConnectionLostError,
  errorOfFaults,
  ForbiddenError,
  type GraphQLFault,
  InternalError,
  RepriseClientError,
} from '../errors.ts'
import type { OnProgress, ReconnectRetry } from '../settings.ts'
import { pause, reconnectDelay } from '../transport/retry-schedule.ts'
import { deferred } from './closeable.ts'
import type { EventSocket } from './event-socket.ts'
import type { Subscription } from '../connection/describe-document.ts'

/**
 * Maximum number of items that wait for the consumer. Beyond it the subscription is ended, and restarted at the
 * consumer's position.
 */
const MAILBOX_ITEMS_MAX = 1_000

export interface Followed extends Subscription {
  variables: object
  signal: AbortSignal
  onProgress: OnProgress | undefined
}

/**
 * Yields the data of each event once and in order, across any number of connections and servers: a new subscription
 * resumes after the cursor of the last event taken.
 * @throws ApiError; the signal's reason; ConnectionLostError if reconnecting is off
 */
export async function* follow<Data>(
  { socket, reconnect }: { socket: EventSocket; reconnect: ReconnectRetry | null },
  followed: Followed,
): AsyncGenerator<Data, void, void> {
  const { name, query, signal, onProgress } = followed
  let variables = begin(followed)
  let failed = 0
  for (;;) {
    signal.throwIfAborted()
    const mailbox = new Mailbox<Data>(MAILBOX_ITEMS_MAX)
    const end = socket.subscribe(
      { query, variables },
      {
        next: (result) => deliver(result, mailbox),
        error: mailbox.fail.bind(mailbox),
        complete: mailbox.complete.bind(mailbox),
      },
    )
    // The consumer may be busy with an item and never request another, so the signal ends the subscription.
    signal.addEventListener('abort', end, { once: true })
    let broken: RepriseClientError | null = null
    try {
      for (;;) {
        const delivery = await mailbox.take(signal)
        if (delivery.kind === 'completed' && followed.endsByItself) return
        if (delivery.kind !== 'item') {
          broken = delivery.kind === 'completed' ? new ConnectionLostError('CONNECTION_LOST', 'The server stops') : null
          break
        }
        failed = 0
        variables = resumed(followed, variables, delivery.item)
        yield delivery.item
      }
    } catch (error) {
      signal.throwIfAborted()
      broken = asBreak(error)
    } finally {
      signal.removeEventListener('abort', end)
      end()
    }
    if (broken === null) continue
    if (reconnect === null) throw broken
    failed++
    const delaySeconds = reconnectDelay(reconnect, failed, Math.random)
    onProgress?.({ kind: 'reconnect', operation: name, failed, delaySeconds, error: broken })
    await pause(delaySeconds, signal)
  }
}

/**
 * Returns the variables of the first subscription. @throws ClientConfigurationError if events before the first one
 * could be missed
 */
function begin({ name, cursorVariable, endsByItself, variables }: Followed): Record<string, unknown> {
  const given = { ...variables } as Record<string, unknown>
  if (cursorVariable !== null && !endsByItself && typeof given[cursorVariable] !== 'string')
    throw new ClientConfigurationError(
      `${name} needs the variable $${cursorVariable} to begin: the \`eventCursor\` that was read with the displayed data`,
    )
  return given
}

function resumed({ name, cursorVariable }: Followed, variables: Record<string, unknown>, data: unknown) {
  if (cursorVariable === null) return variables
  const events = Object.values(data as Record<string, { cursor?: unknown } | null>)
  const cursor = events.find((event) => typeof event?.cursor === 'string')?.cursor
  if (cursor === undefined)
    throw new ClientConfigurationError(`${name} cannot be resumed: its events need the field \`cursor\``)
  return { ...variables, [cursorVariable]: cursor }
}

function deliver<Data>(result: ExecutionResult, mailbox: Mailbox<Data>): void {
  if (result.errors?.length) mailbox.fail(errorOfFaults(result.errors as readonly GraphQLFault[], result.data))
  else mailbox.push(result.data as Data)
}

/** Close codes of the protocol after which a new connection would be refused in the same way. */
const REFUSALS: Readonly<Record<number, string>> = {
  4400: 'BAD_REQUEST',
  4401: 'UNAUTHENTICATED',
  4403: 'FORBIDDEN',
  4406: 'SUBPROTOCOL_NOT_ACCEPTABLE',
}

/** Converts the error that ended the subscription, if the subscription can be restarted. @throws permanent errors */
function asBreak(error: unknown): RepriseClientError {
  if (Array.isArray(error)) return asBreak(errorOfFaults(error as GraphQLFault[]))
  if (error instanceof InternalError) return error
  if (error instanceof RepriseClientError) throw error
  if (!isClose(error)) return new ConnectionLostError('CONNECTION_LOST', 'The connection broke', error)
  const code = REFUSALS[error.code]
  const reason = error.reason || `The server closed the connection with ${error.code}`
  if (code === undefined) return new ConnectionLostError('CONNECTION_LOST', reason)
  throw error.code === 4401 || error.code === 4403 ? new ForbiddenError(code, reason) : new ApiError(code, reason)
}

function isClose(error: unknown): error is { code: number; reason: string } {
  return typeof error === 'object' && error !== null && 'code' in error && 'reason' in error
}

type Delivery<T> = { kind: 'item'; item: T } | { kind: 'completed' } | { kind: 'overflow' }

/**
 * A bounded queue between a connection, which does not wait, and one consumer, which may be slow. Once full, it accepts
 * nothing more: it delivers its items and reports the overflow, and the consumer resumes from its own cursor.
 */
class Mailbox<T> {
  readonly #limit: number
  readonly #items: T[] = []
  #end: { kind: 'completed' } | { kind: 'overflow' } | { kind: 'failed'; error: unknown } | undefined
  #wake: (() => void) | undefined

  constructor(limit: number) {
    this.#limit = limit
  }

  push(item: T): void {
    if (this.#end) return
    if (this.#items.length < this.#limit) this.#items.push(item)
    else this.#end = { kind: 'overflow' }
    this.#wake?.()
  }

  complete(): void {
    this.#end ??= { kind: 'completed' }
    this.#wake?.()
  }

  /** Ends the queue with an error; `take` throws it after all earlier items. */
  fail(error: unknown): void {
    this.#end ??= { kind: 'failed', error }
    this.#wake?.()
  }

  /** Takes the next item; one call at a time. @throws the error given to `fail`; the signal's reason, at once */
  async take(signal: AbortSignal): Promise<Delivery<T>> {
    while (this.#items.length === 0 && !this.#end) {
      signal.throwIfAborted()
      await this.#change(signal)
    }
    signal.throwIfAborted()
    if (this.#items.length > 0) return { kind: 'item', item: this.#items.shift()! }
    if (this.#end!.kind === 'failed') throw this.#end!.error
    return this.#end as Delivery<T>
  }

  async #change(signal: AbortSignal): Promise<void> {
    const { promise, resolve: done } = deferred<void>()
    const resolve = () => done()
    this.#wake = resolve
    signal.addEventListener('abort', resolve, { once: true })
    await promise
    signal.removeEventListener('abort', resolve)
    this.#wake = undefined
  }
}
