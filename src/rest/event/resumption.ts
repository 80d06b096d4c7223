import { z } from '@hono/zod-openapi'

/** For a route's `request.headers`: what clients send by themselves that come back. */
export const LastEventId = z.object({
  'last-event-id': z
    .string()
    .optional()
    .openapi({ description: 'The last `id` of the client: the stream goes on behind it.' }),
})

/** Where a client goes on. */
export function afterOf(
  headers: z.output<typeof LastEventId>,
  { after }: { after?: string | undefined },
): string | undefined {
  return headers['last-event-id'] || after
}

/** For a route's `responses`: events whose `data:` is of this schema. */
export function eventStream({ $ref }: { $ref: string }) {
  return {
    description: `Server-sent events. \`data:\` of each is JSON, see \`${$ref}\`; the last one may be a \`problem\`.`,
    content: { 'text/event-stream': { schema: z.string() } },
  }
}
