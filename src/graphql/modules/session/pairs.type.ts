import { mayReadEnviron } from '../../../services/access/authorize.ts'
import { shownEnviron } from '../../../services/session/shown-environ.ts'
import { builder } from '../../builder.ts'

/** JSON objects of the database as lists of pairs, which GraphQL can type. */

export const EnvVar = builder.objectRef<{ name: string; value: string }>('EnvVar').implement({
  description: 'One variable of the environment.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its name.' }),
    value: t.string({
      description: 'Its value; `[redacted]` for a VIEWER.',
      resolve: (variable, _args, { viewer }) => shownEnviron(viewer, [variable])[0]!.value,
    }),
    redacted: t.boolean({
      description: 'Whether the value is withheld from the token in use.',
      resolve: (_variable, _args, { viewer }) => !mayReadEnviron(viewer),
    }),
  }),
})

export const ResourceSlot = builder.objectRef<{ slot: string; amount: string }>('ResourceSlot').implement({
  description: 'An amount of one resource, per kernel.',
  fields: (t) => ({
    slot: t.exposeString('slot', { description: 'Which: `cpu`, `mem`, `cuda.device`, …' }),
    amount: t.exposeString('amount', { description: 'How much, as a plain decimal; bytes for memory.' }),
  }),
})

export const Label = builder.objectRef<{ key: string; value: string }>('Label').implement({
  description: 'A label given by the client.',
  fields: (t) => ({
    key: t.exposeString('key', { description: 'Its key, unique on the session.' }),
    value: t.exposeString('value', { description: 'Its value.' }),
  }),
})

export const ExecutorOption = builder.objectRef<{ key: string; value: string }>('ExecutorOption').implement({
  description: 'What executors are told in their own terms.',
  fields: (t) => ({
    key: t.exposeString('key', { description: 'Which: `partition`, `qos`, …' }),
    value: t.exposeString('value', { description: 'Its value.' }),
  }),
})

export function slotsOf(amounts: unknown): { slot: string; amount: string }[] {
  return Object.entries(amounts as Record<string, string>).map(([slot, amount]) => ({ slot, amount }))
}

/** Labels, and executor options. */
export function labelsOf(labels: unknown): { key: string; value: string }[] {
  return Object.entries(labels as Record<string, string>).map(([key, value]) => ({ key, value }))
}
