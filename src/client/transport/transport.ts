export interface HttpRequest {
  url: URL
  headers: Record<string, string>
  body: string
  signal: AbortSignal | undefined
}

export interface HttpAnswer {
  status: number
  contentType: string
  retryAfter: string | null
  requestId: string | null
  /** Of a redirect. */
  location: string | null
  /** It is a redirect of which a browser shows nothing. */
  redirectHidden?: boolean
  text: string
}

/** POSTs and reads the whole response; follows no redirects. The only part that differs between Node and browsers. */
export interface Transport {
  /** @throws ConnectionError; the signal's reason */
  post(request: HttpRequest): Promise<HttpAnswer>
  /** Closes all sockets. */
  close(): Promise<void>
}
