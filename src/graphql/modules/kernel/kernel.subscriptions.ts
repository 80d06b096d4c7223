import { followKernelLogs } from '../../../events/follow-kernel-logs.ts'
import { assertKernelVisible } from '../../../services/agent/read-kernel-logs.ts'
import { builder } from '../../builder.ts'
import { behindLogCursor } from '../../../services/agent/log-cursor.ts'
import { authorizedEvents } from '../../execution/authorized-events.ts'
import { LogChunk } from './log.type.ts'

builder.subscriptionField('kernelLogs', (t) =>
  t.field({
    type: LogChunk,
    description:
      'The output of a kernel as it is written, from the beginning or from a cursor on. Completes when the kernel has ended.',
    args: {
      kernelId: t.arg({ type: 'UUID', required: true, description: 'Which kernel.' }),
      after: t.arg.string({ description: "Cursor of the client's last chunk." }),
    },
    subscribe: async (_root, { kernelId, after }, context) => {
      const from = behindLogCursor(after)
      await assertKernelVisible(context, kernelId)
      const { db, topics, logRelay, closing } = context.services
      return authorizedEvents(
        context,
        followKernelLogs({ db, topics, relay: logRelay, kernelId, after: from, closing }),
      )
    },
    resolve: (chunk) => chunk,
  }),
)
