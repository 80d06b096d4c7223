import { RepriseError } from '../domain/errors.ts'
import { decodeCursor, encodeCursor, type EventCursor, type EventFilter } from '../domain/events.ts'
import { FILTER_LIST_MAX } from '../domain/limits.ts'
import type { PrismaClient } from '../store/prisma.ts'
import { ownProject } from './access/tenants.ts'
import { labelConditions, type LabelFilterInput } from './input/label-filter.ts'
import { argumentError } from './input/parse-input.ts'
import { invalidCursor } from './paging.ts'
import type { ServiceContext } from './service-context.ts'
import { readHorizon } from '../store/sql/event/read-events.sql.ts'
import { readNow as read } from '../store/sql/server.sql.ts'

/** A filter of events. All given conditions must match; null counts as missing. */
export interface EventFilterInput {
  /** The project's name. */
  project?: string | null | undefined
  chainId?: string | null | undefined
  chainIds?: readonly string[] | null | undefined
  sessionId?: string | null | undefined
  deploymentId?: string | null | undefined
  labels?: readonly LabelFilterInput[] | null | undefined
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

interface Reader extends Pick<ServiceContext, 'viewer'> {
  prisma: PrismaClient
}

/**
 * Converts a client's filter, restricted to what the viewer sees.
 * @throws RepriseError
 */
export async function visibleEvents(reader: Reader, filter: EventFilterInput): Promise<EventFilter> {
  const { project, chainId, chainIds, sessionId, deploymentId } = filter
  if (chainIds && chainIds.length > FILTER_LIST_MAX)
    throw argumentError(
      'filter.chainIds',
      `\`chainIds\` has ${chainIds.length} items, but may have ${FILTER_LIST_MAX}.`,
    )
  const labels = labelConditions(filter.labels)
  const projectId = project == null ? reader.viewer.projectId : await projectIdOf(reader, project)
  return {
    projectId,
    chainId: chainId ?? null,
    chainIds: chainIds ? new Set(chainIds) : null,
    sessionId: sessionId ?? null,
    deploymentId: deploymentId ?? null,
    labels: labels.length > 0 ? labels : null,
  }
}

/**
 * Returns a cursor before everything that is committed from now on. Some events that were committed just before may
 * follow it, too.
 */
export async function readEventCursor({ db }: ServiceContext): Promise<string> {
  return encodeCursor(await readHorizon(db))
}

/** Reads the database's clock. */
export function readNow({ db }: Pick<ServiceContext, 'db'>): Promise<Date> {
  return read(db)
}

async function projectIdOf({ prisma, viewer }: Reader, name: string): Promise<string> {
  const where = { AND: [ownProject(viewer), { name }] }
  const project = await prisma.project.findFirst({ where, select: { id: true } })
  if (project) return project.id
  throw new RepriseError('PROJECT_NOT_FOUND', `There is no project ${name}.`)
}
