import { followResubmission } from '../../../events/follow-resubmission.ts'
import { assertResubmissionVisible } from '../../../services/read-resubmission.ts'
import { builder } from '../../builder.ts'
import { authorizedStream } from '../../subscriptions.ts'
import { ResubmissionNode } from './resubmission.type.ts'

builder.subscriptionField('resubmissionProgress', (t) =>
  t.prismaField({
    type: ResubmissionNode,
    description: 'A resubmission as it stands, at once and after each change, until it has come to its end.',
    args: { id: t.arg({ type: 'UUID', required: true, description: 'Its `resubmissionId`.' }) },
    subscribe: async (_root, { id }, context) => {
      await assertResubmissionVisible(context, id)
      const { db, wake, closing } = context.services
      const visibleProjectId = context.viewer.projectId
      return authorizedStream(context, followResubmission({ db, wake, id, visibleProjectId, closing }))
    },
    resolve: (query, { id }, _args, { services }) =>
      services.prisma.resubmission.findUniqueOrThrow({ ...query, where: { id } }),
  }),
)
