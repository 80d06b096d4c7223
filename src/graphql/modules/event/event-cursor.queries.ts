import { readEventCursor, readNow } from '../../../services/event/read-event-cursor.ts'
import { builder } from '../../builder.ts'

builder.queryField('eventCursor', (t) =>
  t.string({
    description:
      'The end of the events at the moment at which the other fields of the query are read. A subscription with it as `after` misses nothing that is not in them, however late it starts.',
    resolve: (_root, _args, context) => readEventCursor(context),
  }),
)

builder.queryField('now', (t) =>
  t.field({
    type: 'DateTime',
    description: "The time by the database's clock, which all other times are by: for countdowns, whatever yours says.",
    resolve: (_root, _args, context) => readNow(context),
  }),
)
