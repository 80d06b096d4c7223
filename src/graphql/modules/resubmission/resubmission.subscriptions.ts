import { followResubmission } from '../../../events/follow-resubmission.ts'
import { assertResubmissionVisible } from '../../../services/resubmission/read-resubmission.ts'
import { builder } from '../../builder.ts'
import { authorizedEvents } from '../../execution/authorized-events.ts'
import { stillThere } from '../../loaders/load-session.ts'
import { ResubmissionNode } from './resubmission.type.ts'

builder.subscriptionField('resubmissionProgress', (t) =>
  t.prismaField({
    type: ResubmissionNode,
    description: 'The state of a resubmission, at once and after each change, until it has ended.',
    args: { id: t.arg({ type: 'UUID', required: true, description: 'Its `resubmissionId`.' }) },
    subscribe: async (_root, { id }, context) => {
      await assertResubmissionVisible(context, id)
      const { db, wake, closing } = context.services
      const visibleProjectId = context.viewer.projectId
      return authorizedEvents(context, followResubmission({ db, wake, id, visibleProjectId, closing }))
    },
    resolve: (query, { id }, _args, { services }) =>
      stillThere(services.prisma.resubmission.findUnique({ ...query, where: { id } }), 'RESUBMISSION_NOT_FOUND'),
  }),
)
