import { readNamedQuotas, type UsedQuota } from '../../services/quota.ts'
import { builder } from '../builder.ts'
import { inOrderOf, keyParts, nodeKey } from '../ids.ts'
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
    outputBytes: t.expose('outputBytes', {
      type: 'Bytes',
      description: 'Bytes of all kept outputs. Equal contents count each time, though they are stored once.',
    }),
  }),
})

type Scope = UsedQuota['scope']
const SCOPES: readonly string[] = ['USER', 'PROJECT', 'DOMAIN'] satisfies Scope[]
const keyOf = ({ scope, name }: UsedQuota) => nodeKey([scope, name])

export const QuotaType = builder.node(builder.objectRef<UsedQuota>('Quota'), {
  description:
    'Limits on what a user, a project or a domain may use at the same time, and the present use. All quotas that cover a session apply.',
  id: { resolve: keyOf },
  loadMany: async (ids, context) => {
    const owners = ids.map(keyParts).filter(([scope]) => SCOPES.includes(scope))
    const found = await readNamedQuotas(
      context,
      owners.map(([scope, name]) => ({ scope: scope as Scope, name })),
    )
    return inOrderOf(ids, found, keyOf)
  },
  fields: (t) => ({
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
    maxOutputBytes: t.expose('maxOutputBytes', {
      type: 'Bytes',
      nullable: true,
      description: 'Limit on the bytes of all kept outputs. Files beyond it are not collected. Null means no limit.',
    }),
    usage: t.expose('usage', { type: QuotaUsageType, description: 'The present use.' }),
  }),
})
