import type { UsedQuota } from '../../../services/read-quotas.ts'
import { builder } from '../../builder.ts'
import { ResourceSlot, slotsOf } from '../session/pairs.type.ts'

export const QuotaScopeEnum = builder.enumType('QuotaScope', {
  description: 'Whose sessions a quota limits.',
  values: {
    USER: { description: 'Those that one user created, with their retries.' },
    PROJECT: { description: 'Those of one project.' },
    DOMAIN: { description: 'Those of all projects of a domain.' },
  } as const,
})

const QuotaUsageType = builder.objectRef<UsedQuota['usage']>('QuotaUsage').implement({
  description: 'What counts against a quota at this moment. A retry that waits out its backoff does not.',
  fields: (t) => ({
    slots: t.field({
      type: [ResourceSlot],
      description: 'What all kernels together hold.',
      resolve: ({ slots }) => slotsOf(slots),
    }),
    running: t.exposeInt('running', { description: 'Sessions that have a place: SCHEDULED to TERMINATING.' }),
    pending: t.exposeInt('pending', { description: 'Sessions in PENDING.' }),
  }),
})

export const QuotaType = builder.objectRef<UsedQuota>('Quota').implement({
  description: 'What a user, a project or a domain may have at once, and has. All quotas that a session is under act.',
  fields: (t) => ({
    scope: t.expose('scope', { type: QuotaScopeEnum, description: 'Of what kind it is.' }),
    name: t.exposeString('name', { description: 'Of the user, project or domain.' }),
    slots: t.field({
      type: [ResourceSlot],
      description: 'The most that all kernels together may hold. Slots that are not named are not limited.',
      resolve: ({ slots }) => slotsOf(slots),
    }),
    maxRunning: t.exposeInt('maxRunning', {
      nullable: true,
      description: 'Sessions that may have a place at once: SCHEDULED to TERMINATING. Null limits nothing.',
    }),
    maxPending: t.exposeInt('maxPending', {
      nullable: true,
      description: 'Sessions that may be PENDING at once. Null limits nothing.',
    }),
    usage: t.expose('usage', { type: QuotaUsageType, description: 'What there is now.' }),
  }),
})
