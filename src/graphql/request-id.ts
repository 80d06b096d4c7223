import { randomUUID } from 'node:crypto'
import type { ServerContext } from './context.ts'
import type { WholeRequest } from './whole-request.ts'

/** Ties what a client is told of a fault to what the log says of it. */
export function newRequestId(): string {
  return randomUUID()
}

/** Of an operation over HTTP, as the server that listens gave it to its handler. */
export function requestIdOf(request: Request, { requestId }: ServerContext): string {
  return requestId ?? (request as Partial<WholeRequest>).requestId ?? newRequestId()
}
