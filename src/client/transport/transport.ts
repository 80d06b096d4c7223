export interface HttpRequest {
  url: URL
  method: 'GET' | 'POST' | 'PUT'
  headers: Record<string, string>
  /**
   * The body. A body that is not text has its length in the headers, and is read again when the request is sent again.
   */
  body: string | (() => AsyncIterable<Uint8Array>) | null
  /** Receives the body of a response with status 200 or 206, in place of `text`. */
  sink?: ((chunk: Uint8Array, status: number) => Promise<void>) | undefined
  signal: AbortSignal | undefined
}

export interface HttpAnswer {
  status: number
  contentType: string
  retryAfter: string | null
  requestId: string | null
  /** The target of a redirect. */
  location: string | null
  /** True for a redirect whose target the browser hides. */
  redirectHidden?: boolean
  text: string
}

/**
 * Sends a request and reads the whole response, without following redirects. Node and browsers have different
 * transports.
 */
export interface Transport {
  /** @throws ConnectionError; the signal's reason */
  send(request: HttpRequest): Promise<HttpAnswer>
  /** Closes all sockets. */
  close(): Promise<void>
}

/** Credentials of the caller. They are read again for each request. */
export interface Credentials {
  /** Returns the headers of each request. */
  headers(): Record<string, string>
  /** Returns the parameters of each WebSocket. */
  parameters(): Record<string, string>
}

export function credentialsOf({
  token,
  browserKey,
}: {
  token: string | undefined
  browserKey?: (() => string | null) | undefined
}): Credentials {
  if (token !== undefined) {
    const own = { authorization: `Bearer ${token}` }
    return { headers: () => own, parameters: () => own }
  }
  const named = (name: string) => {
    const key = browserKey?.() ?? null
    return key === null ? {} : { [name]: key }
  }
  return { headers: () => named('x-reprise-browser-key'), parameters: () => named('browserKey') }
}
