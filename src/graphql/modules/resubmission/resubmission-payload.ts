import type { DryRun } from '../../../services/resubmission/try-out.ts'
import { type ShownResubmission, showResubmission } from '../../../services/resubmission/read-resubmission.ts'
import type { BulkAnswer } from '../../../services/resubmission/resubmit-sessions.ts'
import { builder } from '../../builder.ts'
import type { GraphQLContext } from '../../context.ts'
import { loadExistingSessions, stillThere } from '../../loaders/load-session.ts'
import { SessionNode } from '../session/session.types.ts'
import { RefusalGroupType, ResubmissionNode } from './resubmission.type.ts'

const RefusedSession = builder.objectRef<ShownResubmission['refused'][number]>('RefusedSession').implement({
  description: 'A session that was not resubmitted.',
  fields: (t) => ({
    sessionId: t.expose('sessionId', { type: 'UUID', description: 'As it was named.' }),
    code: t.exposeString('code', { description: 'Why, for programs.' }),
    message: t.exposeString('message', { description: 'Why, for people.' }),
  }),
})

type Shown<Name extends string> = ShownResubmission & { __typename: Name }

/** The same fields for all actions on many sessions. */
export function payloadType<Name extends `${string}Payload`>(name: Name, description: string, sessions: string) {
  return builder.objectRef<Shown<Name>>(name).implement({
    description,
    fields: (t) => ({
      resubmission: t.prismaField({
        type: ResubmissionNode,
        description: 'The record of it. While it is RUNNING, follow it with `resubmissionProgress`.',
        resolve: (query, { resubmissionId }, _args, { services }) =>
          stillThere(
            services.prisma.resubmission.findUnique({ ...query, where: { id: resubmissionId } }),
            'RESUBMISSION_NOT_FOUND',
          ),
      }),
      sessions: t.field({
        type: [SessionNode],
        description: `${sessions}, the first 500; \`resubmission.items\` has all.`,
        resolve: ({ sessionIds }, _args, context, info) => loadExistingSessions({ context, info }, sessionIds),
      }),
      refused: t.field({
        type: [RefusedSession],
        description: 'The first 500 refusals. The other sessions went through.',
        resolve: ({ refused }) => refused,
      }),
    }),
  })
}

type DryRunShape = DryRun & { __typename: 'DryRun' }

export const DryRunType = builder.objectRef<DryRunShape>('DryRun').implement({
  description: 'What an action on many sessions would do. Nothing is done.',
  fields: (t) => ({
    total: t.exposeInt('total', { description: 'Sessions that were named, or match.' }),
    count: t.exposeInt('count', {
      description: 'Of these, those that it would be done to, as they are now; the others would be refused.',
    }),
    cancelledDependents: t.exposeInt('cancelledDependents', {
      description:
        'Sessions that were cancelled because chains of these failed. They are among `total` with `includeDependents`.',
    }),
    refusals: t.field({
      type: [RefusalGroupType],
      description: 'Why the others would be refused, each reason once, the most frequent first.',
      resolve: ({ refusals }) => refusals,
    }),
    sessions: t.field({
      type: [SessionNode],
      description: 'The first 100 of them, oldest first.',
      resolve: ({ sessionIds }, _args, context, info) => loadExistingSessions({ context, info }, sessionIds),
    }),
  }),
})

/** What was begun, with what it has done so far, or what a dry run has found. */
export async function showBulk<Name extends `${string}Payload`>(
  context: GraphQLContext,
  __typename: Name,
  answer: BulkAnswer,
): Promise<Shown<Name> | DryRunShape> {
  if ('dryRun' in answer) return { __typename: 'DryRun', ...answer.dryRun }
  return { __typename, ...(await showResubmission(context, answer.resubmissionId)) }
}
