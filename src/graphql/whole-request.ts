import type { IncomingMessage } from 'node:http'

/** A request of the Fetch API of which nothing is left to read. */
export interface WholeRequest extends Request {
  readonly requestId: string
}

interface Parts {
  body: string
  signal: AbortSignal
  requestId: string
}

/** Makes them of a POST of Node whose body was read, as the implementation of the Fetch API has them. */
export function wholeRequests({ Request: Base }: { Request: typeof Request }) {
  class Whole extends Base implements WholeRequest {
    readonly requestId: string

    constructor(url: string, init: RequestInit, requestId: string) {
      super(url, init)
      this.requestId = requestId
    }

    /** `text` and `json` have it; as a stream it would be read and counted once more. */
    override get body(): null {
      return null
    }
  }

  return (request: IncomingMessage, { body, signal, requestId }: Parts): WholeRequest => {
    const headers = request.headers as Record<string, string>
    return new Whole(urlOf(request), { method: 'POST', headers, body, signal }, requestId)
  }
}

export function urlOf({ headers, url }: IncomingMessage): string {
  return `http://${headers.host ?? 'localhost'}${url}`
}
