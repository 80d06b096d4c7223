import { builder } from '../../builder.ts'
import { edgeQuery, pageComplexity } from '../../paging.ts'
import { ID_PREFIX_WORDS, idsBeginningWith } from '../../../services/input/id-prefix.ts'
import { keysetPage } from '../../../services/paging/keyset.ts'
import { NEWEST_FIRST } from '../../../services/paging/orders.ts'
import { projectScope } from '../../../services/access/tenant-scope.ts'
import { SessionActionEnum } from '../session/session.types.ts'
import { ResubmissionNode } from './resubmission.type.ts'

builder.queryField('resubmission', (t) =>
  t.prismaField({
    type: ResubmissionNode,
    nullable: true,
    description: 'One resubmission; null if there is none that you may see.',
    args: { id: t.arg({ type: 'UUID', required: true, description: 'Its `resubmissionId`.' }) },
    resolve: (query, _root, { id }, { services, viewer }) =>
      services.prisma.resubmission.findFirst({ ...query, where: { id, ...projectScope(viewer) } }),
  }),
)

builder.queryField('resubmissions', (t) =>
  t.connection(
    {
      type: ResubmissionNode,
      description: 'Resubmissions and other actions on many sessions, newest first.',
      args: {
        action: t.arg({ type: [SessionActionEnum], description: 'Only these actions.' }),
        idPrefix: t.arg.string({ description: ID_PREFIX_WORDS }),
      },
      complexity: pageComplexity,
      resolve: (_root, { action, idPrefix, ...args }, context, info) => {
        const { prisma } = context.services
        const own = {
          ...projectScope(context.viewer),
          ...(action && { action: { in: action } }),
          ...(idPrefix != null && { id: idsBeginningWith(idPrefix, 'idPrefix') }),
        }
        const query = edgeQuery({ context, info, typeName: 'Resubmission', order: NEWEST_FIRST })
        return keysetPage({
          args,
          order: NEWEST_FIRST,
          find: ({ where, ...page }) =>
            prisma.resubmission.findMany({ ...query, ...page, where: { AND: [own, where] } }),
          count: () => prisma.resubmission.count({ where: own }),
        })
      },
    },
    { name: 'ResubmissionConnection', description: 'A page of resubmissions.' },
    { name: 'ResubmissionEdge', description: 'One resubmission and its place.' },
  ),
)
