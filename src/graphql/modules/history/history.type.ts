import type { HistoryRow } from '../../../services/session/read-scheduling-history.ts'
import { builder } from '../../builder.ts'

export const SchedulingResultEnum = builder.enumType('SchedulingResult', {
  description: 'How one try of a handler was judged.',
  values: {
    SUCCESS: { description: 'It succeeded.' },
    NEED_RETRY: { description: 'It failed and is tried again.' },
    EXPIRED: { description: 'It was in its status for longer than its resource group allows.' },
    GIVE_UP: { description: 'It failed too often.' },
    FAILURE: { description: 'It failed; another path follows.' },
    STALE: { description: 'The information about it was too old.' },
    SKIPPED: { description: 'It was skipped: `message` says what it waits for.' },
  } as const,
})

export const SchedulingHistory = builder.objectRef<HistoryRow>('SchedulingHistory').implement({
  description:
    'What one handler did with a session, kernel, agent, deployment or route, once or several times in a row.',
  fields: (t) => ({
    phase: t.exposeString('phase', { description: 'The handler.' }),
    fromStatus: t.exposeString('fromStatus', { nullable: true, description: 'The status before.' }),
    toStatus: t.exposeString('toStatus', { nullable: true, description: 'The status after.' }),
    result: t.expose('result', { type: SchedulingResultEnum, description: 'The judgement.' }),
    errorCode: t.exposeString('errorCode', { nullable: true, description: 'Name of the error.' }),
    message: t.exposeString('message', { nullable: true, description: 'What happened, in words.' }),
    attempts: t.exposeInt('attempts', { description: 'How often in a row.' }),
    firstAt: t.expose('firstAt', { type: 'DateTime', description: 'The first time.' }),
    lastAt: t.expose('lastAt', { type: 'DateTime', description: 'The last time.' }),
  }),
})

export const SchedulingHistoryConnection = builder.connectionObject(
  { type: SchedulingHistory, name: 'SchedulingHistoryConnection', description: 'A page of scheduling history.' },
  { name: 'SchedulingHistoryEdge', description: 'One entry and its place.' },
)
