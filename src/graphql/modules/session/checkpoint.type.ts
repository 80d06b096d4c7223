import type { ShownCheckpoint } from '../../../services/session/read-sessions.ts'
import { builder } from '../../builder.ts'

const CheckpointStateEnum = builder.enumType('CheckpointState', {
  description: 'What a session found of the checkpoint of earlier attempts.',
  values: {
    NONE: { description: 'There was none.' },
    HERE: { description: 'It was in its directory.' },
    FETCHED: { description: 'It was brought there from elsewhere.' },
    MISSING: { description: 'There was one, and it could not be had.' },
  } satisfies Record<ShownCheckpoint['state'], object>,
})

export const CheckpointType = builder.objectRef<ShownCheckpoint>('Checkpoint').implement({
  description: 'What earlier attempts of its chain left for a session.',
  fields: (t) => ({
    state: t.expose('state', { type: CheckpointStateEnum, description: 'Whether it had it.' }),
    fromAttempt: t.exposeInt('fromAttempt', {
      nullable: true,
      description: 'The attempt that left it; null if there was none, or nobody knows.',
    }),
    bytes: t.exposeFloat('bytes', {
      nullable: true,
      description: 'The size of its files; null if it is not known, also of very many files.',
    }),
    store: t.exposeString('store', {
      nullable: true,
      description: 'Identifies the directory in which it is; agents that share it have the same.',
    }),
    publishedAt: t.expose('publishedAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'When it was recorded: at the end of the attempt that left it, or when its program published it. Of one that was fetched, when the copy was made.',
    }),
    note: t.exposeString('note', { nullable: true, description: 'Why it is missing, in words.' }),
  }),
})
