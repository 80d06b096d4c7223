import { RepriseError } from '../../domain/errors.ts'
import { decodeCursor, type EventCursor } from '../../domain/event-cursor.ts'
import type { EventFilter, OutboxEvent } from '../../domain/events.ts'
import { FILTER_LIST_MAX } from '../../domain/limits.ts'
import { followEvents } from '../../events/follow-events.ts'
import { assertCursorKept } from '../../events/kept-cursor.ts'
import { argumentError } from '../../services/input/parse-input.ts'
import { invalidCursor } from '../../services/paging/page-arguments.ts'
import { ownProject } from '../../services/access/tenant-scope.ts'
import type { GraphQLContext } from '../context.ts'
import { authorizedEvents, type AuthorizedEvents } from '../subscriptions/authorized-events.ts'

export interface EventStreamFilter {
  project?: string | null
  chainId?: string | null
  chainIds?: readonly string[] | null
  sessionId?: string | null
  deploymentId?: string | null
}

/** Events of these types for one subscriber, within its project, from a cursor or from now on. @throws RepriseError */
export async function eventStream<Event extends OutboxEvent>(
  context: GraphQLContext,
  input: { filter: EventStreamFilter; types: ReadonlySet<Event['type']>; after: string | null | undefined },
): Promise<AuthorizedEvents<Event>> {
  const { filter, types } = input
  const after = eventCursorOf(input.after)
  if (after) await assertCursorKept(context.db, after)
  const wanted = { ...(await visibleEvents(context, filter)), types }
  const { db, bus, closing } = context.services
  const events = followEvents({ db, bus, closing, after, filter: wanted })
  return authorizedEvents(context, events as AsyncIterableIterator<readonly Event[]>)
}

/** @throws RepriseError VALIDATION_FAILED */
export function eventCursorOf(
  text: string | null | undefined,
  name: 'after' | 'before' = 'after',
): EventCursor | undefined {
  const cursor = text == null ? undefined : decodeCursor(text)
  if (text != null && !cursor) throw invalidCursor(name)
  return cursor
}

/** What a filter asks for, of what the viewer sees. @throws RepriseError */
export async function visibleEvents(context: GraphQLContext, filter: EventStreamFilter): Promise<EventFilter> {
  const { project, chainId, chainIds, sessionId, deploymentId } = filter
  if (chainIds && chainIds.length > FILTER_LIST_MAX)
    throw argumentError(
      'filter.chainIds',
      `\`chainIds\` has ${chainIds.length} items, but may have ${FILTER_LIST_MAX}.`,
    )
  const projectId = project == null ? context.viewer.projectId : await projectIdOf(context, project)
  return { projectId, chainId, chainIds: chainIds ? new Set(chainIds) : null, sessionId, deploymentId }
}

async function projectIdOf({ services, viewer }: GraphQLContext, name: string): Promise<string> {
  const where = { AND: [ownProject(viewer), { name }] }
  const project = await services.prisma.project.findFirst({ where, select: { id: true } })
  if (project) return project.id
  throw new RepriseError('PROJECT_NOT_FOUND', `There is no project ${name}.`)
}
