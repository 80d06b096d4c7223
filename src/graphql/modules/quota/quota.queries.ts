import { readQuota, readQuotas } from '../../../services/read-quotas.ts'
import { builder } from '../../builder.ts'
import { QuotaScopeEnum, QuotaType } from './quota.type.ts'

builder.queryField('quotas', (t) =>
  t.field({
    type: [QuotaType],
    description: 'All that limit something: every one, or those that act on the project and user of the token.',
    resolve: (_root, _args, context) => readQuotas(context),
  }),
)

builder.queryField('quota', (t) =>
  t.field({
    type: QuotaType,
    nullable: true,
    description: 'Of one user, project or domain, also where nothing is limited; null where you may see none such.',
    args: {
      scope: t.arg({ type: QuotaScopeEnum, required: true, description: 'Of what kind it is.' }),
      name: t.arg.string({ required: true, description: 'Its name.' }),
    },
    resolve: (_root, { scope, name }, context) => readQuota(context, scope, name),
  }),
)
