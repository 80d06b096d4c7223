import { RepriseError } from '../../domain/errors.ts'
import { decodeCursor } from '../../domain/event-cursor.ts'
import type { OutboxEvent } from '../../domain/events.ts'
import { followEvents } from '../../events/follow-events.ts'
import { assertCursorKept } from '../../events/kept-cursor.ts'
import { invalidCursor } from '../../services/paging/page-arguments.ts'
import { ownProject } from '../../services/access/tenant-scope.ts'
import type { GraphQLContext } from '../context.ts'
import { authorizedEvents, type AuthorizedEvents } from '../subscriptions/authorized-events.ts'

export interface EventStreamFilter {
  project?: string | null
  chainId?: string | null
  sessionId?: string | null
  deploymentId?: string | null
}

/** Events of these types for one subscriber, within its project, from a cursor or from now on. @throws RepriseError */
export async function eventStream<Event extends OutboxEvent>(
  context: GraphQLContext,
  input: { filter: EventStreamFilter; types: ReadonlySet<Event['type']>; after: string | null | undefined },
): Promise<AuthorizedEvents<Event>> {
  const { filter, types, after } = input
  const cursor = after == null ? undefined : decodeCursor(after)
  if (after != null && !cursor) throw invalidCursor('after')
  if (cursor) await assertCursorKept(context.db, cursor)
  const projectId = filter.project == null ? context.viewer.projectId : await projectIdOf(context, filter.project)
  const { db, bus, closing } = context.services
  const { chainId, sessionId, deploymentId } = filter
  const wanted = { projectId, chainId, sessionId, deploymentId, types }
  const events = followEvents({ db, bus, closing, after: cursor, filter: wanted })
  return authorizedEvents(context, events as AsyncIterableIterator<readonly Event[]>)
}

async function projectIdOf({ services, viewer }: GraphQLContext, name: string): Promise<string> {
  const where = { AND: [ownProject(viewer), { name }] }
  const project = await services.prisma.project.findFirst({ where, select: { id: true } })
  if (project) return project.id
  throw new RepriseError('PROJECT_NOT_FOUND', `There is no project ${name}.`)
}
