import { randomUUID } from 'node:crypto'

/** Ties what a client is told of a fault to what the log says of it. */
export function newRequestId(): string {
  return randomUUID()
}
