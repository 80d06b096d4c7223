import { createConnection } from 'node:net'
import type pg from 'pg'

const CANCEL_REQUEST_CODE = 80_877_102
/** A statement that could not be cancelled ends by its timeout. */
const WITHIN_MS = 2_000

/** What the types of pg leave out: what the database told the connection to cancel its statement with. */
interface Cancellable {
  host: string
  port: number
  processID: number
  secretKey: number
}

/**
 * Asks the database, or a pooler in between, to end what the connection is doing; it does not answer. Resolves once it
 * has been asked, or cannot be.
 */
export function cancelStatement(client: pg.ClientBase): Promise<void> {
  const { host, port, processID, secretKey } = client as unknown as Cancellable
  const request = Buffer.alloc(16)
  for (const [index, word] of [request.length, CANCEL_REQUEST_CODE, processID, secretKey].entries())
    request.writeInt32BE(word, index * 4)
  const socket = host.startsWith('/') ? createConnection(`${host}/.s.PGSQL.${port}`) : createConnection({ host, port })
  const { promise, resolve } = Promise.withResolvers<void>()
  // The database closes it when it has told the process.
  socket.on('error', () => {}).once('close', () => resolve())
  socket.setTimeout(WITHIN_MS, () => socket.destroy())
  socket.resume().end(request)
  return promise
}
