import { readEventCursor } from '../../../services/read-event-cursor.ts'
import { builder } from '../../builder.ts'

builder.queryField('eventCursor', (t) =>
  t.string({
    description:
      'The present end of the events. A subscription with it as `after` misses nothing that happens from now on, however late it starts.',
    resolve: (_root, _args, context) => readEventCursor(context),
  }),
)
