export interface HttpRequest {
  url: URL
  method: 'GET' | 'POST' | 'PUT'
  headers: Record<string, string>
  /** Its length is in the headers where it is not a text. It is read again when the request is sent again. */
  body: string | (() => AsyncIterable<Uint8Array>) | null
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

/** Sends a request and reads the whole response, without following redirects. Node and browsers have different ones. */
export interface Transport {
  /** @throws ConnectionError; the signal's reason */
  send(request: HttpRequest): Promise<HttpAnswer>
  /** Closes all sockets. */
  close(): Promise<void>
}

/** Identifies the caller to the server. Read again for each request. */
export interface Credentials {
  /** Headers of each request. */
  headers(): Record<string, string>
  /** Parameters of each WebSocket. */
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
