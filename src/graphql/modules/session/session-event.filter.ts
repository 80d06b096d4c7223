import { FILTER_LIST_MAX } from '../../../domain/limits.ts'
import { builder } from '../../builder.ts'
import { SessionEventTypeEnum } from './session-event.type.ts'

export const SessionEventFilter = builder.inputType('SessionEventFilter', {
  description: 'All given conditions must match.',
  fields: (t) => ({
    project: t.string({ description: 'In the project of this name.' }),
    chainId: t.field({ type: 'UUID', description: 'In this chain.' }),
    chainIds: t.field({ type: ['UUID'], description: `In one of these chains, at most ${FILTER_LIST_MAX}.` }),
    sessionId: t.field({ type: 'UUID', description: 'About this session.' }),
    types: t.field({ type: [SessionEventTypeEnum], description: 'With one of these values.' }),
  }),
})
