import type { Mount } from '../../../domain/session/mount/mounts.ts'
import { builder } from '../../builder.ts'

export const MountType = builder.objectRef<Mount>('Mount').implement({
  description: 'A volume of agents, as kernels see it.',
  fields: (t) => ({
    volume: t.exposeString('volume', { description: 'The name that agents have for it.' }),
    path: t.exposeString('path', { description: 'Where kernels find it.' }),
    readOnly: t.exposeBoolean('readOnly', { description: 'Kernels cannot change what is in it.' }),
  }),
})

export const MountInput = builder.inputType('MountInput', {
  description: 'A volume of agents for kernels.',
  fields: (t) => ({
    volume: t.string({ required: true, description: 'The name that agents have for it, as in `volumes`.' }),
    path: t.string({
      required: true,
      description:
        'Where kernels find it: absolute, of letters, digits and _ . @ + -, not within /work, /chain, /tmp, /proc, /sys, /dev or another one.',
    }),
    readOnly: t.boolean({ defaultValue: false, description: 'Kernels are not to change what is in it.' }),
  }),
})
