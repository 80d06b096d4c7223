import { createRoute, z } from '@hono/zod-openapi'
import {
  deploymentEventFields,
  encodeCursor,
  EVENT_TYPES,
  groupEventFields,
  isProjectEvent,
  type OutboxEvent,
  sessionEventFields,
  weeklyEventFields,
} from '../domain/events.ts'
import { FILTER_LIST_MAX } from '../domain/limits.ts'
import { followEvents } from '../events/follow-events.ts'
import { assertCursorKept } from '../events/past-events.ts'
import { eventCursorOf, visibleEvents } from '../services/event.ts'
import { COMMON_PROBLEMS, problems } from './route-parts.ts'
import type { RestApp } from './rest-app.ts'
import { ids, labelFilters, several, toLabelFilters } from './parameters.ts'
import { afterOf, eventStream, LastEventId, sendEvents, type StreamServices } from './event-stream.ts'
import { component } from './openapi.ts'

/** Schema of `data:` in a streamed event: the payload of a webhook, without the details of its session. */
const EVENT = component('Event', {
  type: 'object',
  description: 'The data of one event of the stream, as JSON.',
  properties: {
    type: { type: 'string', enum: [...EVENT_TYPES], description: 'The type, as in `event:`.' },
    timestamp: { type: 'string', format: 'date-time', description: 'When it happened.' },
    data: {
      type: 'object',
      description:
        '`session_id` and `chain_id`, or `deployment_id`, or `group_id`, or `project_id`, and the details, with the same names as in webhooks. For a status: `previous_status`, `status` and `reason`. For a retry: `attempt`, `max_attempts`, `cause`, `reason`, `delay_seconds`, `due_at` (also as `scheduled_at`, its former name) and `child_session_id`. For a chain: `epoch`, `attempts`, `cause`, `reason`, `running_seconds` and `waiting_seconds`.',
    },
  },
  required: ['type', 'timestamp', 'data'],
})

const route = createRoute({
  method: 'get',
  path: '/v2/events',
  operationId: 'followEvents',
  summary: 'Follow events as they happen',
  description:
    'Server-sent events: from now on, or all events since the one with the given `id`. All given filters must match. The first lines have an `id`, too: a client that was disconnected before its first event continues with it and misses nothing. Comments are sent while there are no events. The stream ends when the server stops: the client then continues with its last `id` at any server.',
  tags: ['events'],
  request: {
    headers: LastEventId,
    query: z.strictObject({
      after: z.string().optional().openapi({
        description:
          'The `id` of the last event that the client received. The header `Last-Event-ID` takes precedence.',
      }),
      types: several(EVENT_TYPES, 'Of one of these types.'),
      project: z.string().optional().openapi({ description: 'In the project of this name.' }),
      chain_id: ids(`In one of these chains, at most ${FILTER_LIST_MAX}.`),
      session_id: z.uuid().toLowerCase().optional().openapi({ description: 'About this session.' }),
      deployment_id: z.uuid().toLowerCase().optional().openapi({ description: 'About this deployment.' }),
      label: labelFilters(),
    }),
  },
  responses: {
    200: eventStream(EVENT.reference),
    ...COMMON_PROBLEMS,
    ...problems('PROJECT_NOT_FOUND', 'CURSOR_EXPIRED', 'TOO_MANY_SUBSCRIPTIONS'),
  },
})

export function serveEvents(app: RestApp, streams: StreamServices): void {
  app.openapi(route, async (c) => {
    const {
      types,
      project,
      chain_id: chainIds,
      session_id: sessionId,
      deployment_id: deploymentId,
      label,
    } = c.req.valid('query')
    const context = c.get('context')
    const after = eventCursorOf(afterOf(c.req.valid('header'), c.req.valid('query')))
    if (after) await assertCursorKept(context.db, after, streams.bus)
    const seen = await visibleEvents(context, {
      project,
      chainIds,
      sessionId,
      deploymentId,
      labels: toLabelFilters(label),
    })
    const { bus, closing } = streams
    const filter = { ...seen, types: types ? new Set(types) : null }
    const source = followEvents({ db: context.db, bus, closing, after, filter })
    // The source returns everything after this position.
    const from = encodeCursor(after ?? bus.position)
    return sendEvents(c, streams, { source, from, show: toSentEvent })
  })
}

function toSentEvent(event: OutboxEvent): { id: string; event: string; data: object } {
  const { cursor, type, occurredAt } = event
  return {
    id: encodeCursor(cursor),
    event: type,
    data: { type, timestamp: occurredAt.toISOString(), data: dataOf(event) },
  }
}

function dataOf(event: OutboxEvent): object {
  if (isProjectEvent(event)) return { project_id: event.projectId, ...weeklyEventFields(event.data) }
  if (event.groupId !== null) return { group_id: event.groupId, ...groupEventFields(event.data) }
  if (event.sessionId === null) {
    const { type, deploymentId, routeId, data } = event
    return { deployment_id: deploymentId, ...deploymentEventFields(type, data as never, routeId) }
  }
  const { sessionId, chainId, data } = event
  return { session_id: sessionId, chain_id: chainId, ...sessionEventFields(data) }
}
