import type { UsedQuota } from '../../services/quota.ts'
import { builder } from '../builder.ts'
import { stableId } from '../ids.ts'
import { ResourceSlot, slotsOf } from './session/values.types.ts'

export const QuotaScopeEnum = builder.enumType('QuotaScope', {
  description: 'Whose sessions a quota limits.',
  values: {
    USER: { description: 'Those that one user created, with their retries.' },
    PROJECT: { description: 'Those of one project.' },
    DOMAIN: { description: 'Those of all projects of a domain.' },
  } as const,
})

const QuotaUsageType = builder.objectRef<UsedQuota['usage']>('QuotaUsage').implement({
  description: 'Present use of a quota. A retry waiting out its backoff does not count.',
  fields: (t) => ({
    slots: t.field({
      type: [ResourceSlot],
      description: 'What all kernels together hold.',
      resolve: ({ slots }) => slotsOf(slots),
    }),
    running: t.exposeInt('running', { description: 'Sessions that have been placed: SCHEDULED to TERMINATING.' }),
    pending: t.exposeInt('pending', { description: 'Sessions in PENDING.' }),
    checkpointBytes: t.exposeFloat('checkpointBytes', { description: 'Of all checkpoints, as last measured.' }),
  }),
})

export const QuotaType = builder.objectRef<UsedQuota>('Quota').implement({
  description:
    'Limits on what a user, a project or a domain may have at once, and their use. All quotas that cover a session apply.',
  fields: (t) => ({
    id: t.id(stableId('Quota', ({ scope, name }: UsedQuota) => [scope, name])),
    scope: t.expose('scope', { type: QuotaScopeEnum, description: 'Of what kind it is.' }),
    name: t.exposeString('name', { description: 'Of the user, project or domain.' }),
    slots: t.field({
      type: [ResourceSlot],
      description: 'Limit on what all kernels together may hold. Slots that are not named are not limited.',
      resolve: ({ slots }) => slotsOf(slots),
    }),
    maxRunning: t.exposeInt('maxRunning', {
      nullable: true,
      description: 'Limit on sessions placed at once: SCHEDULED to TERMINATING. Null means no limit.',
    }),
    maxPending: t.exposeInt('maxPending', {
      nullable: true,
      description: 'Limit on sessions PENDING at once. Null means no limit.',
    }),
    maxCheckpointBytes: t.exposeFloat('maxCheckpointBytes', {
      nullable: true,
      description:
        'Limit on the bytes of all checkpoints. While they have as much, no new chain starts. Null means no limit.',
    }),
    usage: t.expose('usage', { type: QuotaUsageType, description: 'What there is now.' }),
  }),
})
