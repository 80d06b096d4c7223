import { readEventCursor } from '../../../services/read-event-cursor.ts'
import { builder } from '../../builder.ts'

builder.queryField('eventCursor', (t) =>
  t.string({
    description:
      'Where events stand now. A subscription with it as `after` misses nothing that happens from now on, however late it begins.',
    resolve: (_root, _args, context) => readEventCursor(context),
  }),
)
