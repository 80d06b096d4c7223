/**
 * Connections on which a valid token has been shown. What is bounded for strangers, such as how slowly they may read,
 * holds for all others.
 */
const known = new WeakSet()

/** @param connection the socket on which the token came */
export function noteKnown(connection: object): void {
  known.add(connection)
}

export function isKnown(connection: object): boolean {
  return known.has(connection)
}
