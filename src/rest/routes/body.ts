import type { ErrorCode } from '../../domain/errors.ts'

/** For a route's `request.body`: JSON, whose schema is a component of the OpenAPI document. */
export function body(component: { reference: { $ref: string } }, example: object) {
  return { required: true, content: { 'application/json': { schema: component.reference, example } } }
}

/** The errors of every route with a body. */
export const BODY_PROBLEMS = [
  'MALFORMED_REQUEST',
  'REQUEST_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
] as const satisfies ErrorCode[]
