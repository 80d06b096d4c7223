import { PAGE_SIZE_DEFAULT, QUEUE_SHOWN_MAX, USUAL_SUCCESSES_MAX, USUAL_SUCCESSES_MIN } from '../../../domain/limits.ts'
import { argumentError } from '../../../services/input/parse-input.ts'
import { pageSize } from '../../../services/paging.ts'
import { placeOf, type QueuePlace, type ShownDuration } from '../../../services/session/read-queue.ts'
import { builder } from '../../builder.ts'
import { loadExistingSessions } from '../../loaders/load-session.ts'
import { forwardArguments } from '../../paging.ts'
import { SESSION_PAGE, SessionNode } from './session.types.ts'

const QueuePlaceType = builder.objectRef<QueuePlace>('QueuePlace').implement({
  description: 'The place of a session in the queue of its resource group.',
  fields: (t) => ({
    before: t.exposeInt('before', {
      nullable: true,
      description: `Number of sessions whose turn comes before, also of other projects; null if it is not in line, or not among the first ${QUEUE_SHOWN_MAX}.`,
    }),
    expectedStartAt: t.expose('expectedStartAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'When it will be given an agent if no session is added: in the order of the scheduler, with the median duration of each name (`Session.usualDuration`). Sessions without one count as if they never ended.',
    }),
    whyUnknown: t.exposeString('whyUnknown', {
      nullable: true,
      description: 'Why there is no `expectedStartAt`; null if there is one.',
    }),
  }),
})

const UsualDurationType = builder.objectRef<ShownDuration>('UsualDuration').implement({
  description: `How long attempts of a name run that succeed, from the last ${USUAL_SUCCESSES_MAX} chains of the project that have succeeded.`,
  fields: (t) => ({
    successes: t.exposeInt('successes', { description: `Number of these successes, at most ${USUAL_SUCCESSES_MAX}.` }),
    medianSeconds: t.float({
      nullable: true,
      description: `The median; null below ${USUAL_SUCCESSES_MIN} successes.`,
      resolve: ({ usual }) => usual?.median ?? null,
    }),
    p95Seconds: t.float({
      nullable: true,
      description: `95 % of them took at most this long; null below ${USUAL_SUCCESSES_MIN} successes.`,
      resolve: ({ usual }) => usual?.p95 ?? null,
    }),
  }),
})

/** It reads and simulates the queue of the resource group, once for all sessions of an operation. */
const COST = 10

builder.prismaObjectFields(SessionNode, (t) => ({
  queuePlace: t.field({
    type: QueuePlaceType,
    nullable: true,
    description: 'Its place in the queue, and when it is expected to start; null if it is not PENDING.',
    complexity: { field: COST },
    select: { status: true, resourceGroup: true, nextTryAt: true },
    resolve: async ({ id, status, resourceGroup, nextTryAt }, _args, { loaders }) => {
      if (status !== 'PENDING') return null
      return placeOf(await loaders.queues.load(resourceGroup), { id, nextTryAt })
    },
  }),
  usualDuration: t.field({
    type: UsualDurationType,
    description: 'How long attempts of its name usually run.',
    select: { projectId: true, name: true },
    resolve: ({ projectId, name }, _args, { loaders }) => loaders.usualDurations.load({ projectId, name }),
  }),
}))

const QueueConnection = builder.connectionObject(
  {
    type: SessionNode,
    name: 'QueueConnection',
    description: 'A page of sessions in the order of their turns.',
    interfaces: [SESSION_PAGE.page],
  },
  { name: 'QueueEdge', description: 'One session in line with its cursor.', interfaces: [SESSION_PAGE.edge] },
)

builder.queryField('queue', (t) =>
  t.field({
    type: QueueConnection,
    description: `The sessions that wait in line in a resource group and that you may see, in the order in which their turn comes: the first ${QUEUE_SHOWN_MAX} of the line. Sessions that wait for something else, such as a start time, are not in line.`,
    args: {
      resourceGroup: t.arg.string({ defaultValue: 'default', description: 'Name of the resource group.' }),
      ...forwardArguments(t),
    },
    complexity: ({ first }) => ({ field: COST, multiplier: first ?? PAGE_SIZE_DEFAULT }),
    resolve: async (_root, { resourceGroup, first = null, after }, context, info) => {
      const { size } = pageSize({ first })
      const offset = after == null ? 0 : offsetOf(after)
      const { order, isLonger } = await context.loaders.queues.load(resourceGroup ?? 'default')
      const own = context.viewer.projectId
      const seen = order.filter(({ projectId }) => own === null || projectId === own)
      const page = seen.slice(offset, offset + size)
      const ids = page.map(({ id }) => id)
      const nodes = await loadExistingSessions({ context, info, path: ['edges', 'node'] }, ids)
      const edges = nodes.map((node, at) => ({ cursor: String(offset + at + 1), node }))
      return {
        edges,
        pageInfo: {
          hasNextPage: seen.length > offset + size,
          hasPreviousPage: offset > 0,
          startCursor: edges.at(0)?.cursor ?? null,
          endCursor: edges.at(-1)?.cursor ?? null,
        },
        totalCount: async () => seen.length,
        totalCountIsExact: async () => !isLonger,
      }
    },
  }),
)

/** @throws RepriseError VALIDATION_FAILED */
function offsetOf(cursor: string): number {
  if (/^\d{1,4}$/.test(cursor)) return Number(cursor)
  throw argumentError('after', 'Is no cursor of this list.')
}
