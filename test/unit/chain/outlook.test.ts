import { expect, test } from 'vitest'
import { type NewestAttempt, outlook } from '../../../src/domain/chain/outlook.ts'

const RUNNING: NewestAttempt = {
  status: 'RUNNING',
  sessionType: 'BATCH',
  attempt: 3,
  retryCount: 2,
  maxRetries: 3,
  phase: null,
  explanation: null,
  holdReason: null,
  dueAt: null,
}
const NOW = new Date('2026-06-01T12:00:00Z')
const LATER = new Date('2026-06-01T12:01:00Z')
const EARLIER = new Date('2026-06-01T11:59:00Z')

test.each<[string, Partial<NewestAttempt>, boolean, string, Date | null]>([
  ['one retry is left', {}, true, 'attempt 3 is RUNNING; 1 of 3 retries are left if it fails', null],
  ['all retries are used', { retryCount: 3 }, false, 'attempt 3 is RUNNING; all 3 retries are used', null],
  ['it has no retries', { retryCount: 0, maxRetries: 0 }, false, 'attempt 3 is RUNNING; maxRetries is 0', null],
  ['the session is interactive', { sessionType: 'INTERACTIVE' }, false, 'INTERACTIVE sessions are never retried', null],
  [
    'the attempt has ended, without a decision yet',
    { status: 'ERROR' },
    true,
    'attempt 3 is over and not yet judged; 1 of 3 retries are left if it fails',
    null,
  ],
  ['the retry waits', { phase: 'SCHEDULED', explanation: 'exit code 1', dueAt: LATER }, true, 'exit code 1', LATER],
  ['the retry is held', { phase: 'HELD', explanation: 'exit code 1', dueAt: LATER }, true, 'held; exit code 1', LATER],
  [
    'the retry is held for longer than its backoff',
    { phase: 'HELD', explanation: 'exit code 1', dueAt: EARLIER },
    true,
    'held; exit code 1',
    null,
  ],
  ['the retries are exhausted', { phase: 'EXHAUSTED', explanation: 'all used' }, false, 'all used', null],
])('the outlook of a chain: %s', (_, more, willRetry, reason, at) => {
  expect(outlook({ ...RUNNING, ...more }, NOW)).toEqual({ willRetry, reason, at })
})
