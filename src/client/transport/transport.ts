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
  text: string
}

/** POSTs and reads the whole response. The only part that differs between Node and browsers. */
export interface Transport {
  /** @throws ConnectionError; the signal's reason */
  post(request: HttpRequest): Promise<HttpAnswer>
  /** Closes all sockets. */
  close(): Promise<void>
}
