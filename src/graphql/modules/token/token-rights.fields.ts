import { mayAdminister, mayChange } from '../../../services/access/authorize.ts'
import { builder } from '../../builder.ts'
import { TokenNode } from './token.type.ts'

interface Rights {
  change: boolean
  administer: boolean
}

const TokenRights = builder.objectRef<Rights>('TokenRights').implement({
  description: 'What whoever has a token may do, with what it can see: in its project, or in all.',
  fields: (t) => ({
    createSessions: t.exposeBoolean('change', { description: 'Create sessions and deployments.' }),
    manageRetries: t.exposeBoolean('change', { description: 'Change, hasten and cancel retries.' }),
    resubmit: t.exposeBoolean('change', { description: 'Resubmit sessions.' }),
    terminate: t.exposeBoolean('change', { description: 'Terminate sessions and destroy deployments.' }),
    administer: t.exposeBoolean('administer', {
      description:
        'Read the audit log, manage tokens, and change defaults and switches of retries; without a project also everything that concerns the cluster.',
    }),
  }),
})

builder.prismaObjectField(TokenNode, 'can', (t) =>
  t.field({
    type: TokenRights,
    description:
      'What it allows at present: by its role, or that of its user in its project. Nothing if it is not valid.',
    select: { id: true },
    resolve: async ({ id }, _args, { loaders }) => {
      const role = await loaders.tokenRoles.load(id)
      return { change: role !== null && mayChange({ role }), administer: role !== null && mayAdminister({ role }) }
    },
  }),
)
