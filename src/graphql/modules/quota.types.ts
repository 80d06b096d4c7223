import type { UsedQuota } from '../../services/quota.ts'
import { builder } from '../builder.ts'
import { stableId } from '../ids.ts'
import { ResourceSlot, slotsOf } from './session/values.types.ts'

export const QuotaScopeEnum = builder.enumType('QuotaScope', {
  description: "Kind of a quota's owner.",
  values: {
    USER: { description: 'One user: limits the sessions that the user created, with their retries.' },
    PROJECT: { description: 'One project: limits its sessions.' },
    DOMAIN: { description: 'One domain: limits the sessions of all its projects.' },
  } as const,
})

const QuotaUsageType = builder.objectRef<UsedQuota['usage']>('QuotaUsage').implement({
  description: 'Present use of a quota. A retry waiting out its backoff does not count.',
  fields: (t) => ({
    slots: t.field({
      type: [ResourceSlot],
      description: 'Resources that all kernels together hold.',
      resolve: ({ slots }) => slotsOf(slots),
    }),
    running: t.exposeInt('running', { description: 'Sessions that have been placed: SCHEDULED to TERMINATING.' }),
    pending: t.exposeInt('pending', { description: 'Sessions in PENDING.' }),
    checkpointBytes: t.expose('checkpointBytes', {
      type: 'Bytes',
      description: 'Bytes of all checkpoints, as last measured.',
    }),
  }),
})

export const QuotaType = builder.objectRef<UsedQuota>('Quota').implement({
  description:
    'Limits on what a user, a project or a domain may use at the same time, and the present use. All quotas that cover a session apply.',
  fields: (t) => ({
    id: t.id(stableId('Quota', ({ scope, name }: UsedQuota) => [scope, name])),
    scope: t.expose('scope', { type: QuotaScopeEnum, description: 'Kind of its owner.' }),
    name: t.exposeString('name', { description: 'Name of its owner: the user, project or domain.' }),
    slots: t.field({
      type: [ResourceSlot],
      description: 'Limits on the resources that all kernels together may hold. Other slots are not limited.',
      resolve: ({ slots }) => slotsOf(slots),
    }),
    maxRunning: t.exposeInt('maxRunning', {
      nullable: true,
      description: 'Limit on the number of placed sessions: SCHEDULED to TERMINATING. Null means no limit.',
    }),
    maxPending: t.exposeInt('maxPending', {
      nullable: true,
      description: 'Limit on the number of PENDING sessions. Null means no limit.',
    }),
    maxCheckpointBytes: t.expose('maxCheckpointBytes', {
      type: 'Bytes',
      nullable: true,
      description:
        'Limit on the bytes of all checkpoints. No new chain starts while it is reached. Null means no limit.',
    }),
    usage: t.expose('usage', { type: QuotaUsageType, description: 'The present use.' }),
  }),
})
