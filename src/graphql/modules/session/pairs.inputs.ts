import { builder } from '../../builder.ts'

export const EnvVarInput = builder.inputType('EnvVarInput', {
  description: 'One variable of the environment.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Its name.' }),
    value: t.string({ required: true, description: 'Its value.' }),
  }),
})

export const ResourceSlotInput = builder.inputType('ResourceSlotInput', {
  description: 'An amount of one resource, per kernel.',
  fields: (t) => ({
    slot: t.string({ required: true, description: 'Which: `cpu`, `mem`, `cuda.device`, …' }),
    amount: t.string({
      required: true,
      description: 'How much, as a decimal: `0.5`, `2`; bytes take k, m, g, t (binary): `2g`, `512 MiB`.',
    }),
  }),
})

export const LabelInput = builder.inputType('LabelInput', {
  description: 'A label given by the client.',
  fields: (t) => ({
    key: t.string({ required: true, description: 'Its key, unique on the session.' }),
    value: t.string({ required: true, description: 'Its value.' }),
  }),
})

export const ExecutorOptionInput = builder.inputType('ExecutorOptionInput', {
  description: 'What executors are told in their own terms.',
  fields: (t) => ({
    key: t.string({ required: true, description: 'Which: `partition`, `qos`, …' }),
    value: t.string({ required: true, description: 'Its value: letters, digits and _ . , : & | * ( ) [ ] -.' }),
  }),
})
