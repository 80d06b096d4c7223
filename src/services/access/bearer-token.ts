/** The token from an `Authorization` header, or from `authorization` of a connection's parameters. */
export function bearerToken(authorization: unknown): string | undefined {
  return typeof authorization === 'string' ? /^Bearer +(\S+)$/i.exec(authorization.trim())?.[1] : undefined
}
