import { allQuotas, readQuota, setQuota, type UsedQuota } from '../../services/quota.ts'
import { builder } from '../builder.ts'
import { ForbiddenError, NotFoundError, ValidationError } from './error.types.ts'
import { mutation, reasonField } from './mutation.ts'
import { QuotaScopeEnum, QuotaType } from './quota.types.ts'
import { ResourceSlotInput } from './session/values.types.ts'

builder.queryField('quotas', (t) =>
  t.field({
    type: [QuotaType],
    description:
      'All quotas with at least one limit. A token of a project sees those that apply to its project and user.',
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
      scope: t.arg({ type: QuotaScopeEnum, required: true, description: 'Kind of its owner.' }),
      name: t.arg.string({ required: true, description: 'Name of its owner: the user, project or domain.' }),
    },
    resolve: (_root, { scope, name }, context) => readQuota(context, scope, name),
  }),
)

const SetQuotaInput = builder.inputType('SetQuotaInput', {
  description: 'Changes of a quota. Missing fields stay as they are; null removes a limit.',
  fields: (t) => ({
    scope: t.field({ type: QuotaScopeEnum, required: true, description: 'Kind of its owner.' }),
    name: t.string({ required: true, description: 'Name of its owner: the user, project or domain.' }),
    slots: t.field({
      type: [ResourceSlotInput],
      description:
        'Limits on the resources that all kernels together may hold. Replaces the earlier limits; 0 allows none of a slot.',
    }),
    maxRunning: t.int({ description: 'Limit on the number of sessions placed at the same time.' }),
    maxPending: t.int({ description: 'Limit on the number of PENDING sessions.' }),
    maxCheckpointBytes: t.field({
      type: 'Bytes',
      description: 'Limit on the bytes of all checkpoints, such as `500g`. No new chain starts while it is reached.',
    }),
    maxOutputBytes: t.field({
      type: 'Bytes',
      description: 'Limit on the bytes of all kept outputs, such as `500g`. Files beyond it are not collected.',
    }),
    ...reasonField(t),
  }),
})

const SetQuotaPayload = builder.objectRef<{ quota: UsedQuota }>('SetQuotaPayload').implement({
  description: 'The quota after the change.',
  fields: (t) => ({ quota: t.expose('quota', { type: QuotaType, description: 'The quota after the change.' }) }),
})

mutation({
  name: 'setQuota',
  description:
    'Limits what a user, a project or a domain may use at the same time; for administrators. Existing sessions stay.',
  input: SetQuotaInput,
  inputDescription: 'The limits, and their owner.',
  payload: SetQuotaPayload,
  errors: [ValidationError, NotFoundError, ForbiddenError],
  result: 'The quota after the change',
  run: async (context, input) => ({ quota: await setQuota(context, input) }),
})
