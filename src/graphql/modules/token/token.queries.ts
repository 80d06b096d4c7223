import { assertMayAdminister } from '../../../services/access/authorize.ts'
import { builder } from '../../builder.ts'
import { edgeQuery, pageComplexity } from '../../paging.ts'
import { ID_PREFIX_WORDS, idsBeginningWith } from '../../../services/input/id-prefix.ts'
import { keysetPage } from '../../../services/paging/keyset.ts'
import { NEWEST_FIRST } from '../../../services/paging/orders.ts'
import { projectScope } from '../../../services/access/tenant-scope.ts'
import { TokenNode } from './token.type.ts'

builder.queryField('tokens', (t) =>
  t.connection(
    {
      type: TokenNode,
      nullable: true,
      description:
        'Tokens, newest first, revoked and expired ones included, those that browsers got in return for one left out; null, with an error, unless you are an administrator.',
      args: { idPrefix: t.arg.string({ description: ID_PREFIX_WORDS }) },
      complexity: pageComplexity,
      resolve: (_root, { idPrefix, ...args }, context, info) => {
        const { services, viewer } = context
        assertMayAdminister(viewer, 'PROJECT')
        const begins = idPrefix == null ? {} : { id: idsBeginningWith(idPrefix, 'idPrefix') }
        const visible = { AND: [projectScope(viewer), { parentId: null }, begins] }
        const query = edgeQuery({ context, info, typeName: 'Token', order: NEWEST_FIRST })
        return keysetPage({
          args,
          order: NEWEST_FIRST,
          find: ({ where, ...page }) =>
            services.prisma.apiToken.findMany({ ...query, ...page, where: { AND: [visible, where] } }),
          count: () => services.prisma.apiToken.count({ where: visible }),
        })
      },
    },
    { name: 'TokenConnection', description: 'A page of tokens.' },
    { name: 'TokenEdge', description: 'One token and its place.' },
  ),
)

builder.queryField('viewer', (t) =>
  t.prismaField({
    type: TokenNode,
    nullable: true,
    description: 'The token in use: who you are and what you may do.',
    resolve: (query, _root, _args, { services, viewer }) =>
      services.prisma.apiToken.findUnique({ ...query, where: { id: viewer.tokenId } }),
  }),
)
