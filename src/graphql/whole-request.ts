import type { IncomingMessage } from 'node:http'

/** A request of the Fetch API of which nothing is left to read. */
export interface WholeRequest extends Request {
  readonly requestId: string
}

interface Parts {
  url: URL
  body: string
  signal: AbortSignal
  requestId: string
}

/** Makes them of a POST of Node whose body was read. The base is the class that the server knows. */
export function wholeRequests({ Request: Base }: { Request: typeof Request }) {
  class Whole extends Base implements WholeRequest {
    readonly requestId: string

    constructor(url: URL, init: RequestInit, requestId: string) {
      super(url, init)
      this.requestId = requestId
    }

    /** `text` and `json` have it; as a stream it would be read and counted once more. */
    override get body(): null {
      return null
    }
  }

  return ({ headers }: IncomingMessage, { url, body, signal, requestId }: Parts): WholeRequest =>
    new Whole(url, { method: 'POST', headers: headers as Record<string, string>, body, signal }, requestId)
}
