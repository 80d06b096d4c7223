import type { MiddlewareHandler } from 'hono'
import { refuseUnstorable } from '../services/input/storable-input.ts'

/** The one place that every text of a URL passes, with `%00` as NUL; half a surrogate pair has no form in a URL. */
export const storableParameters: MiddlewareHandler = async (c, next) => {
  refuseUnstorable(c.req.queries())
  await next()
}
