/** Out of an `Authorization` header, or out of `authorization` of a connection's parameters. */
export function bearerToken(authorization: unknown): string | undefined {
  return typeof authorization === 'string' ? /^Bearer +(\S+)$/i.exec(authorization.trim())?.[1] : undefined
}
