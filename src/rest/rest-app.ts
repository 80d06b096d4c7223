import type { HttpBindings } from '@hono/node-server'
import type { OpenAPIHono } from '@hono/zod-openapi'
import type { ReadContext } from '../services/session/read-sessions.ts'

export interface RestEnvironment {
  Bindings: HttpBindings
  Variables: {
    requestId: string
    context: ReadContext
    /** Aborts when the client has left, or has its answer. */
    gone: AbortSignal
    /** Whether the request's token is still valid. */
    stillAuthorized: () => Promise<boolean>
    /** The body is still read when the route has answered: the request goes on until it is sent. */
    streams: boolean
  }
}

export type RestApp = OpenAPIHono<RestEnvironment>
