import { allQuotas, readQuota, setQuota, type UsedQuota } from '../../services/quota.ts'
import { builder } from '../builder.ts'
import { ForbiddenError, NotFoundError, ValidationError } from './error.types.ts'
import { mutation } from './mutation.ts'
import { QuotaScopeEnum, QuotaType } from './quota.types.ts'
import { ResourceSlotInput } from './session/values.types.ts'

builder.queryField('quotas', (t) =>
  t.field({
    type: [QuotaType],
    description: "All quotas that limit something: every one, or those that apply to the token's project and user.",
    resolve: (_root, _args, context) => allQuotas(context),
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

const SetQuotaInput = builder.inputType('SetQuotaInput', {
  description: 'What to change. Missing fields stay as they are; null removes a limit.',
  fields: (t) => ({
    scope: t.field({ type: QuotaScopeEnum, required: true, description: 'Of what kind it is.' }),
    name: t.string({ required: true, description: 'Of the user, project or domain.' }),
    slots: t.field({
      type: [ResourceSlotInput],
      description: 'Limit on what all kernels together may hold. Replaces the earlier limits; 0 allows none of a slot.',
    }),
    maxRunning: t.int({ description: 'Limit on sessions placed at once.' }),
    maxPending: t.int({ description: 'Limit on sessions PENDING at once.' }),
    maxCheckpointBytes: t.string({
      description:
        'Limit on the bytes of all checkpoints, such as `500g`. While they have as much, no new chain starts.',
    }),
  }),
})

const SetQuotaPayload = builder.objectRef<{ quota: UsedQuota }>('SetQuotaPayload').implement({
  description: 'What is set now.',
  fields: (t) => ({ quota: t.expose('quota', { type: QuotaType, description: 'What is set now.' }) }),
})

mutation({
  name: 'setQuota',
  description:
    'Limits what a user, a project or a domain may have at once, for administrators. What exists already stays.',
  input: SetQuotaInput,
  inputDescription: 'What, and for whom.',
  payload: SetQuotaPayload,
  errors: [ValidationError, NotFoundError, ForbiddenError],
  result: 'What is set now',
  run: async (context, input) => ({ quota: await setQuota(context, input) }),
})
