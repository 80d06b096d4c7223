import { builder } from '../../builder.ts'
import { edgeQuery, pageComplexity } from '../../paging.ts'
import { keysetPage } from '../../../services/paging/keyset.ts'
import { BY_NAME } from '../../../services/paging/orders.ts'
import { UserNode } from './user.type.ts'

builder.queryField('users', (t) =>
  t.connection(
    {
      type: UserNode,
      description: 'The users that the token sees, by name: all, or the members of its project.',
      complexity: pageComplexity,
      resolve: (_root, args, context, info) => {
        const { prisma } = context.services
        const { projectId } = context.viewer
        const visible = projectId === null ? {} : { members: { some: { projectId } } }
        const query = edgeQuery({ context, info, typeName: 'User', order: BY_NAME })
        return keysetPage({
          args,
          order: BY_NAME,
          find: ({ where, ...page }) => prisma.user.findMany({ ...query, ...page, where: { AND: [visible, where] } }),
          count: () => prisma.user.count({ where: visible }),
        })
      },
    },
    { name: 'UserConnection', description: 'A page of users.' },
    { name: 'UserEdge', description: 'One user and its place.' },
  ),
)
