import type { ErrorCode } from '../../domain/errors.ts'

/** For a route's `request.body`: JSON, described by a component of the OpenAPI document. */
export function body(component: { reference: { $ref: string } }, example: object) {
  return { required: true, content: { 'application/json': { schema: component.reference, example } } }
}

/** What every route with a body may answer. */
export const BODY_PROBLEMS = [
  'MALFORMED_REQUEST',
  'REQUEST_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
] as const satisfies ErrorCode[]
