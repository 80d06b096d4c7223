import { expect, test } from 'vitest'
import type { ChainEventData } from '../../../src/domain/events.ts'
import { payloadOf } from '../../../src/domain/webhook.ts'

const ENDED: ChainEventData = {
  epoch: 1,
  attempts: 4,
  cause: 'OOM_KILLED',
  reason: 'retries exhausted',
  runningSeconds: 12.5,
  waitingSeconds: 7,
}
const CASES: [type: string, event: ChainEventData, fields: object][] = [
  [
    'chain.failed',
    ENDED,
    {
      epoch: 1,
      attempts: 4,
      cause: 'OOM_KILLED',
      reason: 'retries exhausted',
      running_seconds: 12.5,
      waiting_seconds: 7,
    },
  ],
  [
    'chain.reopened',
    { epoch: 2, attempts: 5, reason: 'resubmitted by bo' },
    { epoch: 2, attempts: 5, cause: null, reason: 'resubmitted by bo', running_seconds: null, waiting_seconds: null },
  ],
]

test.each(CASES)('%s', (type, event, fields) => {
  const occurredAt = new Date('2026-11-21T12:00:00Z')
  const session = {
    name: 'n',
    type: 'BATCH',
    project: 'p',
    parentSessionId: 'b',
    attempt: 2,
    maxAttempts: 3,
    exitCode: 137,
  }
  const delivered = { webhookId: 'w', type, occurredAt, sessionId: 's', chainId: 'c', facts: { event, session } }
  expect(JSON.parse(payloadOf(delivered))).toEqual({
    type,
    timestamp: '2026-11-21T12:00:00.000Z',
    data: {
      session_id: 's',
      session_name: 'n',
      session_type: 'BATCH',
      project: 'p',
      chain_id: 'c',
      parent_session_id: 'b',
      exit_code: 137,
      ...fields,
    },
  })
})
