import { COUNTED_ROWS_MAX } from '../../../domain/limits.ts'
import { builder } from '../../builder.ts'
import { forwardArguments, nestedPage } from '../../paging.ts'
import { PENDING_ORDER } from '../../loaders/agent-loaders.ts'
import { loadSession } from '../../loaders/load-session.ts'
import { SessionNode } from '../session/session.types.ts'
import { ResourceGroupType } from './resource-group.type.ts'

const PendingSessionConnection = builder.connectionObject(
  { type: SessionNode, name: 'PendingSessionConnection', description: 'A page of sessions that wait for an agent.' },
  { name: 'PendingSessionEdge', description: 'One session and its place.' },
)

builder.prismaObjectField(ResourceGroupType, 'pendingSessions', (t) =>
  t.field({
    type: PendingSessionConnection,
    description:
      'Its sessions that are PENDING, of those that you may see: the highest priority first, then the oldest. `totalCount` counts up to 10,000.',
    args: forwardArguments(t),
    complexity: ({ first }) => ({ field: 1, multiplier: first ?? 20 }),
    resolve: ({ name }, args, context, info) =>
      nestedPage({
        id: name,
        args,
        order: PENDING_ORDER,
        loader: context.loaders.groupPending,
        nodes: (ids) =>
          Promise.all(ids.map((value) => loadSession({ context, info, by: 'id', value, path: ['edges', 'node'] }))),
        count: () => context.loaders.groupPendingCount.load(name),
        countMax: COUNTED_ROWS_MAX,
      }),
  }),
)
