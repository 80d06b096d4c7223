import type { IncomingMessage } from 'node:http'

/** A request of the Fetch API whose body has been read. */
export interface WholeRequest extends Request {
  readonly requestId: string
}

interface Parts {
  url: URL
  body: string
  signal: AbortSignal
  requestId: string
}

/** Returns a function that makes one from a POST request of Node. `Request` is the class that the server uses. */
export function wholeRequests({ Request: Base }: { Request: typeof Request }) {
  class Whole extends Base implements WholeRequest {
    readonly requestId: string

    constructor(url: URL, init: RequestInit, requestId: string) {
      super(url, init)
      this.requestId = requestId
    }

    /** No stream, which would be read a second time: `text` and `json` return the body. */
    override get body(): null {
      return null
    }
  }

  return ({ headers }: IncomingMessage, { url, body, signal, requestId }: Parts): WholeRequest =>
    new Whole(url, { method: 'POST', headers: headers as Record<string, string>, body, signal }, requestId)
}
