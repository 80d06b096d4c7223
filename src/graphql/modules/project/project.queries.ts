import { builder } from '../../builder.ts'
import { edgeQuery, pageComplexity } from '../../paging.ts'
import { keysetPage } from '../../../services/paging/keyset.ts'
import { BY_NAME } from '../../../services/paging/orders.ts'
import { ownProject } from '../../../services/access/tenant-scope.ts'
import { ProjectNode } from './project.type.ts'

builder.queryField('projects', (t) =>
  t.connection(
    {
      type: ProjectNode,
      description: 'The projects that the token sees, by name.',
      complexity: pageComplexity,
      resolve: (_root, args, context, info) => {
        const { prisma } = context.services
        const visible = ownProject(context.viewer)
        const query = edgeQuery({ context, info, typeName: 'Project', order: BY_NAME })
        return keysetPage({
          args,
          order: BY_NAME,
          find: ({ where, ...page }) =>
            prisma.project.findMany({ ...query, ...page, where: { AND: [visible, where] } }),
          count: () => prisma.project.count({ where: visible }),
        })
      },
    },
    { name: 'ProjectConnection', description: 'A page of projects.' },
    { name: 'ProjectEdge', description: 'One project and its place.' },
  ),
)
