import type { RouteRow } from '../../../services/deployment/read-routes.ts'
import { assemblePage } from '../../../services/paging/keyset.ts'
import { decodeKeyset, encodeKeyset } from '../../../services/paging/keyset-cursor.ts'
import { invalidCursor, pageSize } from '../../../services/paging/page-arguments.ts'
import { NEWEST_FIRST } from '../../../services/paging/orders.ts'
import { builder } from '../../builder.ts'
import { forwardArguments } from '../../paging.ts'
import { DeploymentNode, Endpoint } from '../deployment/deployment.type.ts'
import { RouteStatusEnum } from '../deployment/deployment.enums.ts'
import { RouteNode } from './route.type.ts'

const RouteConnection = builder.connectionObject(
  { type: RouteNode, name: 'RouteConnection', description: 'A page of routes.' },
  { name: 'RouteEdge', description: 'One route and its place.' },
)

builder.objectField(DeploymentNode, 'routes', (t) =>
  t.field({
    type: RouteConnection,
    description: 'Its routes, newest first, including ended ones.',
    args: {
      ...forwardArguments(t),
      status: t.arg({ type: [RouteStatusEnum], description: 'Those in one of these statuses.' }),
    },
    complexity: ({ first }) => ({ field: 1, multiplier: first ?? 20 }),
    resolve: async ({ id }, { status, ...args }, { loaders }) => {
      const list = { deploymentId: id, statuses: [...new Set(status)].toSorted() }
      // An empty list of statuses matches nothing.
      const none = status?.length === 0
      const limit = pageSize({ first: args.first }).size + 1
      const rows = none ? [] : await loaders.routePages.load({ ...list, after: placeOf(args.after), limit })
      return assemblePage<RouteRow>({
        args,
        rows,
        cursorOf: (row) => encodeKeyset(NEWEST_FIRST, row),
        count: () => (none ? Promise.resolve(0) : loaders.routeListCount.load(list)),
      })
    },
  }),
)

function placeOf(cursor: string | null | undefined) {
  if (cursor == null) return null
  const values = decodeKeyset(NEWEST_FIRST, cursor)
  if (!values) throw invalidCursor('after')
  const [createdAt, id] = values as [Date, string]
  return { createdAt, id }
}

builder.objectField(Endpoint, 'route', (t) =>
  t.field({
    type: RouteNode,
    description: 'The route that serves there.',
    resolve: async ({ routeId }, _args, { loaders }) => {
      const route = await loaders.routes.load(routeId)
      if (!route) throw new Error(`no route ${routeId}`)
      return route
    },
  }),
)
