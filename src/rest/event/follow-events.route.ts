import { createRoute, z } from '@hono/zod-openapi'
import { encodeCursor } from '../../domain/event-cursor.ts'
import { EVENT_TYPES } from '../../domain/events.ts'
import { FILTER_LIST_MAX } from '../../domain/limits.ts'
import { followEvents } from '../../events/follow-events.ts'
import { assertCursorKept } from '../../events/kept-cursor.ts'
import { eventCursorOf, visibleEvents } from '../../services/event/visible-events.ts'
import { COMMON_PROBLEMS, problems } from '../answers.ts'
import type { RestApp } from '../rest-app.ts'
import { ids, several } from '../routes/parameters.ts'
import { EVENT, toSentEvent } from './event.resource.ts'
import { sendEvents, type StreamServices } from './send-events.ts'
import { afterOf, eventStream, LastEventId } from './resumption.ts'

const route = createRoute({
  method: 'get',
  path: '/v2/events',
  operationId: 'followEvents',
  summary: 'Follow events as they happen',
  description:
    'Server-sent events, from now on, or everything since the one whose `id` is given. All filters that are given must match. The first lines have an `id`, too: with it, a client that was cut off before its first event misses nothing. Comments are sent while nothing happens. A stream ends when the server stops: a client then goes on with its last `id`, at any server.',
  tags: ['events'],
  request: {
    headers: LastEventId,
    query: z.strictObject({
      after: z.string().optional().openapi({ description: 'The last `id` of the client. `Last-Event-ID` beats it.' }),
      types: several(EVENT_TYPES, 'Of one of these types.'),
      project: z.string().optional().openapi({ description: 'In the project of this name.' }),
      chain_id: ids(`In one of these chains, at most ${FILTER_LIST_MAX}.`),
      session_id: z.uuid().toLowerCase().optional().openapi({ description: 'About this session.' }),
      deployment_id: z.uuid().toLowerCase().optional().openapi({ description: 'About this deployment.' }),
    }),
  },
  responses: {
    200: eventStream(EVENT.reference),
    ...COMMON_PROBLEMS,
    ...problems('PROJECT_NOT_FOUND', 'CURSOR_EXPIRED', 'TOO_MANY_SUBSCRIPTIONS'),
  },
})

export function serveFollowEvents(app: RestApp, streams: StreamServices): void {
  app.openapi(route, async (c) => {
    const {
      types,
      project,
      chain_id: chainIds,
      session_id: sessionId,
      deployment_id: deploymentId,
    } = c.req.valid('query')
    const context = c.get('context')
    const after = eventCursorOf(afterOf(c.req.valid('header'), c.req.valid('query')))
    if (after) await assertCursorKept(context.db, after)
    const seen = await visibleEvents(context, { project, chainIds, sessionId, deploymentId })
    const { bus, closing } = streams
    const filter = { ...seen, types: types ? new Set(types) : null }
    const source = followEvents({ db: context.db, bus, closing, after, filter })
    // Whatever comes behind this place, the source has.
    const from = encodeCursor(after ?? bus.position)
    return sendEvents(c, streams, { source, from, show: toSentEvent })
  })
}
