import { builder } from '../../builder.ts'
import { edgeQuery } from '../../paging/edge-query.ts'
import type { OrderColumn } from '../../../services/paging/keyset-cursor.ts'
import { keysetPage } from '../../../services/paging/keyset.ts'
import { pageComplexity } from '../../paging/page-complexity.ts'
import { DomainNode } from './domain.type.ts'

/** Names are unique among domains. */
const BY_NAME: OrderColumn[] = [{ column: 'name', direction: 'asc', type: 'text' }]

builder.queryField('domains', (t) =>
  t.connection(
    {
      type: DomainNode,
      description: 'The domains that the token sees, by name: all, or that of its project.',
      complexity: pageComplexity,
      resolve: (_root, args, context, info) => {
        const { prisma } = context.services
        const { projectId } = context.viewer
        const visible = projectId === null ? {} : { projects: { some: { id: projectId } } }
        const query = edgeQuery({ context, info, typeName: 'Domain', order: BY_NAME })
        return keysetPage({
          args,
          order: BY_NAME,
          find: ({ where, ...page }) => prisma.domain.findMany({ ...query, ...page, where: { AND: [visible, where] } }),
          count: () => prisma.domain.count({ where: visible }),
        })
      },
    },
    { name: 'DomainConnection', description: 'A page of domains.' },
    { name: 'DomainEdge', description: 'One domain and its place.' },
  ),
)
