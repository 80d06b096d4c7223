import { encodeCursor } from '../../../domain/event-cursor.ts'
import { CHANGED_IDS_MAX, CHANGES_EVERY_MS, FILTER_LIST_MAX } from '../../../domain/limits.ts'
import { type ChangeBatch, followChanges } from '../../../events/follow-changes.ts'
import { argumentError } from '../../../services/input/parse-input.ts'
import { builder } from '../../builder.ts'
import { authorizedEvents } from '../../execution/authorized-events.ts'
import { eventCursorOf, visibleEvents } from '../../../services/event/visible-events.ts'

const ChangeFilter = builder.inputType('ChangeFilter', {
  description: 'All given conditions must match.',
  fields: (t) => ({
    project: t.string({ description: 'In the project of this name. Agents are of all projects.' }),
    chainIds: t.field({
      type: ['UUID'],
      description: `In these chains, at most ${FILTER_LIST_MAX}: their sessions, and nothing else.`,
    }),
  }),
})

const ChangeBatchType = builder.objectRef<ChangeBatch>('ChangeBatch').implement({
  description: `What has changed since the batch before, by id: at most ${CHANGED_IDS_MAX} of each kind.`,
  fields: (t) => ({
    cursor: t.string({
      description: 'For `after`: all that happened up to here has been sent.',
      resolve: ({ cursor }) => encodeCursor(cursor),
    }),
    chainIds: t.expose('chainIds', { type: ['UUID'], description: 'Chains of which an attempt or its retry changed.' }),
    sessionIds: t.expose('sessionIds', { type: ['UUID'], description: 'Sessions that changed, or whose retry did.' }),
    agentIds: t.expose('agentIds', {
      type: ['UUID'],
      description: 'Agents that changed, in their status or in what is used of them.',
    }),
    deploymentIds: t.expose('deploymentIds', {
      type: ['UUID'],
      description: 'Deployments that changed, or one of their routes.',
    }),
    resubmissionIds: t.expose('resubmissionIds', {
      type: ['UUID'],
      description: 'Resubmissions that are new, got on, or ended.',
    }),
    missed: t.exposeBoolean('missed', {
      description: 'More has changed than is named, or the cursor had expired: read again what is shown.',
    }),
  }),
})

const { default: EVERY_MS, min: EVERY_MS_MIN, max: EVERY_MS_MAX } = CHANGES_EVERY_MS

builder.subscriptionField('changes', (t) =>
  t.field({
    type: ChangeBatchType,
    description:
      'The ids of what changes, gathered: one message as soon as something has changed, and the next not before `everyMs` later. With the `cursor` of the last message, or `eventCursor`, as `after`, everything since then comes first, and the first message names all agents and recent resubmissions.',
    args: {
      filter: t.arg({ type: ChangeFilter, description: 'Which changes.' }),
      after: t.arg.string({ description: "Cursor of the client's last batch." }),
      everyMs: t.arg.int({
        description: `Milliseconds between messages, ${EVERY_MS_MIN} to ${EVERY_MS_MAX}; ${EVERY_MS} if missing.`,
      }),
    },
    subscribe: async (_root, { filter, after, everyMs }, context) => {
      const everyOrDefault = everyMs ?? EVERY_MS
      if (everyOrDefault < EVERY_MS_MIN || everyOrDefault > EVERY_MS_MAX)
        throw argumentError(
          'everyMs',
          `\`everyMs\` is ${everyOrDefault}; it may be ${EVERY_MS_MIN} to ${EVERY_MS_MAX}.`,
        )
      const wanted = await visibleEvents({ viewer: context.viewer, prisma: context.services.prisma }, filter ?? {})
      const { db, bus, standings, closing } = context.services
      const changes = followChanges({
        db,
        bus,
        standings: wanted.chainIds ? undefined : standings,
        filter: wanted,
        after: eventCursorOf(after),
        everyMs: everyOrDefault,
        closing,
      })
      return authorizedEvents(context, changes)
    },
    resolve: (batch) => batch,
  }),
)
