import { readVolumes, type Volume } from '../../../services/agent/read-volumes.ts'
import { builder } from '../../builder.ts'

const VolumeType = builder.objectRef<Volume>('Volume').implement({
  description: 'A directory that agents have under a name, for kernels.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'The name by which sessions ask for it.' }),
    readOnly: t.exposeBoolean('readOnly', { description: 'No agent lets kernels change what is in it.' }),
    resourceGroups: t.exposeStringList('resourceGroups', { description: 'Where there are agents that have it.' }),
    agents: t.exposeInt('agents', { description: 'How many agents have it and are alive.' }),
  }),
})

builder.queryField('volumes', (t) =>
  t.field({
    type: [VolumeType],
    description:
      'The volumes that sessions of your project may use, by name; for tokens of no project all. At most 1000.',
    resolve: (_root, _args, { services, viewer }) => readVolumes(services, viewer),
  }),
)
