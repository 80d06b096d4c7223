import { SESSION_ACTIONS } from '../../../domain/session/session-action.ts'
import type { ActionVerdict } from '../../../services/resubmission/session-actions.ts'
import { builder } from '../../builder.ts'
import { ChainNode } from '../chain/chain.types.ts'
import { SessionActionEnum, SessionNode } from '../session/session.types.ts'

const ActionVerdictType = builder.objectRef<ActionVerdict>('ActionVerdict').implement({
  description: 'Whether a mutation would do it now, judged by the rules of the mutation itself.',
  fields: (t) => ({
    action: t.expose('action', { type: SessionActionEnum, description: 'What.' }),
    allowed: t.boolean({
      description: 'Whether you may, and it can be done.',
      resolve: ({ reason }) => reason === null,
    }),
    reason: t.exposeString('reason', {
      nullable: true,
      description: 'The message with which the mutation would refuse; null if allowed.',
    }),
  }),
})

const complexity = { field: 5, multiplier: SESSION_ACTIONS.length }

builder.prismaObjectField(SessionNode, 'actions', (t) =>
  t.field({
    type: [ActionVerdictType],
    description: 'What you could do with it now. It may have changed when you do.',
    complexity,
    select: { id: true },
    resolve: ({ id }, _args, { loaders }) => loaders.sessionActions.load(id),
  }),
)

builder.objectField(ChainNode, 'actions', (t) =>
  t.field({
    type: [ActionVerdictType],
    description: 'What you could do with its newest attempt now. It may have changed when you do.',
    complexity,
    resolve: ({ tailId }, _args, { loaders }) => loaders.sessionActions.load(tailId),
  }),
)
