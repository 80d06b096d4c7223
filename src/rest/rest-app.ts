import type { HttpBindings } from '@hono/node-server'
import type { OpenAPIHono } from '@hono/zod-openapi'
import type { ReadContext } from '../services/session/read-sessions.ts'

export interface RestEnvironment {
  Bindings: HttpBindings
  Variables: { requestId: string; context: ReadContext }
}

export type RestApp = OpenAPIHono<RestEnvironment>
