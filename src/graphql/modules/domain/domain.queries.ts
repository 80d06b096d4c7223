import { builder } from '../../builder.ts'
import { edgeQuery, pageComplexity } from '../../paging.ts'
import { keysetPage } from '../../../services/paging/keyset.ts'
import { BY_NAME } from '../../../services/paging/orders.ts'
import { DomainNode } from './domain.type.ts'

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
