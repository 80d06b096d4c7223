import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { GraphQLError } from 'graphql'
import { nextTurn } from '../../services/next-turn.ts'
import type { Viewer } from '../../services/service-context.ts'
import type { ServerContext } from '../context.ts'

/** A request of the Fetch API whose caller is known and whose body has been read. */
export interface WholeRequest extends Request {
  readonly requestId: string
  readonly address: string | undefined
  readonly identity: Identity | GraphQLError
  /** Whether its body is longer than REQUEST_BYTES_MAX. */
  readonly isLarge: boolean
}

type Details = Pick<WholeRequest, 'requestId' | 'address' | 'identity' | 'isLarge'>
interface Parts extends Details {
  url: URL
  body: string
  signal: AbortSignal
}

/**
 * Returns a function that makes a whole request from a POST request of Node. `Request` is the class that the server
 * uses.
 */
export function wholeRequests({ Request: Base }: { Request: typeof Request }) {
  class Whole extends Base implements WholeRequest {
    readonly requestId: string
    readonly address: string | undefined
    readonly identity: Identity | GraphQLError
    readonly isLarge: boolean
    readonly #text: string

    constructor(url: URL, init: RequestInit & { body: string }, { requestId, address, identity, isLarge }: Details) {
      super(url, init)
      this.requestId = requestId
      this.address = address
      this.identity = identity
      this.#text = init.body
      this.isLarge = isLarge
    }

    /** Returns null: `text` and `json` return the body, and a stream of it would only be read once more. */
    override get body(): null {
      return null
    }

    /** Throws its own error, because Yoga's error would contain the whole text. */
    override async json(): Promise<never> {
      let body: never
      try {
        body = JSON.parse(this.#text) as never
      } catch {
        throw unreadable('The body is not JSON.')
      }
      if (this.isLarge) await nextTurn()
      return body
    }
  }

  return ({ headers }: IncomingMessage, parts: Parts): WholeRequest => {
    const { url, body, signal } = parts
    return new Whole(url, { method: 'POST', headers: headers as Record<string, string>, body, signal }, parts)
  }
}

/** Creates the error for a request that cannot be parsed. */
export function unreadable(message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code: 'MALFORMED_REQUEST', http: { status: 400 } } })
}

/** A caller that has been authenticated. */
export interface Identity {
  viewer: Viewer
  token: string
}

/** Creates an id that connects an error shown to a client with its log entries. */
export function newRequestId(): string {
  return randomUUID()
}

/**
 * Returns the id of an operation over HTTP: the one that the HTTP server assigned to the request, otherwise a new one.
 */
export function requestIdOf(request: Request, { requestId }: ServerContext): string {
  return requestId ?? (request as Partial<WholeRequest>).requestId ?? newRequestId()
}

/** Returns the network address that an operation over HTTP comes from. */
export function addressOf(request: Request, { address }: ServerContext): string | undefined {
  return address ?? (request as Partial<WholeRequest>).address
}
