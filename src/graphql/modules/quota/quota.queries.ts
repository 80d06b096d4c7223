import { readQuota, readQuotas } from '../../../services/quota/read-quotas.ts'
import { builder } from '../../builder.ts'
import { QuotaScopeEnum, QuotaType } from './quota.type.ts'

builder.queryField('quotas', (t) =>
  t.field({
    type: [QuotaType],
    description: "All quotas that limit something: every one, or those that apply to the token's project and user.",
    resolve: (_root, _args, context) => readQuotas(context),
  }),
)

builder.queryField('quota', (t) =>
  t.field({
    type: QuotaType,
    nullable: true,
    description:
      'The quota of one user, project or domain, even if nothing is limited; null if there is none that you may see.',
    args: {
      scope: t.arg({ type: QuotaScopeEnum, required: true, description: 'Of what kind it is.' }),
      name: t.arg.string({ required: true, description: 'Its name.' }),
    },
    resolve: (_root, { scope, name }, context) => readQuota(context, scope, name),
  }),
)
