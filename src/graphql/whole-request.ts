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

/** Answers with how to make one from a POST of Node. `Request` is the class that the server works with. */
export function wholeRequests({ Request: Base }: { Request: typeof Request }) {
  class Whole extends Base implements WholeRequest {
    readonly requestId: string

    constructor(url: URL, init: RequestInit, requestId: string) {
      super(url, init)
      this.requestId = requestId
    }

    /** Not offered as a stream, which would be read again; `text` and `json` return it. */
    override get body(): null {
      return null
    }
  }

  return ({ headers }: IncomingMessage, { url, body, signal, requestId }: Parts): WholeRequest =>
    new Whole(url, { method: 'POST', headers: headers as Record<string, string>, body, signal }, requestId)
}
