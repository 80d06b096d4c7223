import type { Prisma } from '../../../generated/prisma/client.ts'
import { COUNTED_ROWS_MAX } from '../../../domain/limits.ts'
import { sessionWhere } from '../../../services/session/session-where.ts'
import { builder } from '../../builder.ts'
import { edgeQuery, pageComplexity } from '../../paging.ts'
import { keysetPage } from '../../../services/paging/keyset.ts'
import { projectScope } from '../../../services/access/tenant-scope.ts'
import { loadSession } from '../../loaders/load-session.ts'
import { SessionFilter } from './session.filter.ts'
import { SessionOrder, sessionOrder } from './session.order.ts'
import { SessionNode } from './session.type.ts'

builder.queryField('session', (t) =>
  t.field({
    type: SessionNode,
    nullable: true,
    description: 'One session; null if there is none that you may see.',
    args: { id: t.arg({ type: 'UUID', required: true, description: 'Its `sessionId`.' }) },
    resolve: (_root, { id }, context, info) => loadSession({ context, info, by: 'id', value: id }),
  }),
)

builder.queryField('sessions', (t) =>
  t.connection(
    {
      type: SessionNode,
      description: 'Sessions, newest first by default.',
      args: {
        filter: t.arg({ type: SessionFilter, description: 'Which sessions.' }),
        orderBy: t.arg({ type: [SessionOrder], description: 'Order; the first entry counts most.' }),
      },
      complexity: pageComplexity,
      resolve: (_root, { filter, orderBy, ...args }, context, info) => {
        const { prisma } = context.services
        const order = sessionOrder(orderBy)
        const wanted: Prisma.SessionWhereInput = { AND: [projectScope(context.viewer), sessionWhere(filter)] }
        const query = edgeQuery({ context, info, typeName: 'Session', order })
        return keysetPage({
          args,
          order,
          find: ({ where, ...page }) => prisma.session.findMany({ ...query, ...page, where: { AND: [wanted, where] } }),
          count: () => prisma.session.count({ where: wanted, take: COUNTED_ROWS_MAX + 1 }),
          countMax: COUNTED_ROWS_MAX,
        })
      },
    },
    { name: 'SessionConnection', description: 'A page of sessions.' },
    { name: 'SessionEdge', description: 'One session and its place.' },
  ),
)
