import { z } from '@hono/zod-openapi'
import { type ErrorCode, ERRORS } from '../domain/errors.ts'
import { Problem, PROBLEM_TYPE } from './problem.ts'
import { PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX } from '../domain/limits.ts'
import type { Page } from '../services/paging.ts'

/** Describes a successful response, for a route's `responses`. */
export function json<Schema extends z.ZodType>(schema: Schema, description: string) {
  return { description, content: { 'application/json': { schema } } }
}

/** Describes errors, for a route's `responses`: one entry for each status, listing the error codes that have it. */
export function problems(...codes: ErrorCode[]) {
  const byStatus = Map.groupBy(codes, (code) => ERRORS[code].httpStatus)
  const entries = [...byStatus].map(([status, meant]) => {
    return [status, { description: meant.join(', '), content: { [PROBLEM_TYPE]: { schema: Problem } } }] as const
  })
  return Object.fromEntries(entries)
}

/** The errors of every route. */
export const COMMON_PROBLEMS = problems('UNAUTHENTICATED', 'FORBIDDEN', 'VALIDATION_FAILED')

/** Describes a JSON body, for a route's `request.body`. Its schema is a component of the OpenAPI document. */
export function jsonBody(component: { reference: { $ref: string } }, example: object) {
  return { required: true, content: { 'application/json': { schema: component.reference, example } } }
}

/** The errors of every route with a body. */
export const BODY_PROBLEMS = [
  'MALFORMED_REQUEST',
  'REQUEST_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
] as const satisfies ErrorCode[]

export const PAGE_PARAMETERS = {
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(PAGE_SIZE_MAX)
    .default(PAGE_SIZE_DEFAULT)
    .openapi({ description: 'Maximum number of items.', type: 'integer' }),
  cursor: z
    .string()
    .optional()
    .openapi({ description: '`next_cursor` of the previous page. It stays valid if items are added or removed.' }),
}

export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({
    items: z.array(item),
    next_cursor: z
      .string()
      .nullable()
      .openapi({ description: 'Pass it as `cursor` to get the next page; null on the last page.' }),
  })
}

export function toPage<Row, Item>({ edges, pageInfo }: Page<Row>, toItem: (row: Row) => Item) {
  return {
    items: edges.map(({ node }) => toItem(node)),
    next_cursor: pageInfo.hasNextPage ? pageInfo.endCursor : null,
  }
}

/** Returns the header `Link` (RFC 8288) to the next page, if there is one. */
export function nextLink(url: string, nextCursor: string | null): Record<string, string> {
  if (nextCursor === null) return {}
  const next = new URL(url)
  next.searchParams.set('cursor', nextCursor)
  return { Link: `<${next.pathname}${next.search}>; rel="next"` }
}
