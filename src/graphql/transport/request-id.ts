import { randomUUID } from 'node:crypto'
import type { ServerContext } from '../context.ts'
import type { WholeRequest } from './whole-request.ts'

/** Connects an error shown to a client with its log entries. */
export function newRequestId(): string {
  return randomUUID()
}

/** Id of an operation over HTTP: the one that the HTTP server assigned to the request, else a new one. */
export function requestIdOf(request: Request, { requestId }: ServerContext): string {
  return requestId ?? (request as Partial<WholeRequest>).requestId ?? newRequestId()
}

/** Where an operation over HTTP comes from. */
export function addressOf(request: Request, { address }: ServerContext): string | undefined {
  return address ?? (request as Partial<WholeRequest>).address
}
