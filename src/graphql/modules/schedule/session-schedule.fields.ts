import { builder } from '../../builder.ts'
import { SessionNode } from '../session/session.types.ts'
import { ScheduleNode } from './schedule.type.ts'

builder.prismaObjectField(SessionNode, 'schedule', (t) =>
  t.field({
    type: ScheduleNode,
    nullable: true,
    description: 'The schedule that made its chain; null if none did, or if that was deleted.',
    select: { chainId: true },
    resolve: ({ chainId }, _args, { loaders }) => loaders.scheduleOfChain.load(chainId),
  }),
)
