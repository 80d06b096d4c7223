import type { HttpBindings } from '@hono/node-server'
import type { OpenAPIHono } from '@hono/zod-openapi'
import type { ReadContext } from '../services/session/read-sessions.ts'

export interface RestEnvironment {
  Bindings: HttpBindings
  Variables: {
    requestId: string
    context: ReadContext
    /** Aborts when the client has disconnected or has received the whole response. */
    gone: AbortSignal
    /** Whether the request's token is still valid. */
    stillAuthorized: () => Promise<boolean>
    /** Lets other requests of the token take this one's turn, before it waits. It may be called several times. */
    leaveTurn: () => void
    /** Whether the body is produced after the route has returned; the request then lasts until the body is sent. */
    streams: boolean
  }
}

export type RestApp = OpenAPIHono<RestEnvironment>
