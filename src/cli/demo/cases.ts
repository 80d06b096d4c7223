import { join } from 'node:path'
import type { CreateSessionInput } from '../../client/node/index.ts'

const COUNT_PRIMES = join(import.meta.dirname, 'programs/count-primes.mjs')

/** The expected end of one attempt. */
export interface ExpectedAttempt {
  status: 'TERMINATED' | 'ERROR' | 'CANCELLED'
  failureCause: string | null
  phase: string
  exitCode?: number
  oomKilled?: boolean
}

export interface DemoCase {
  name: string
  /** Explanation in the output. */
  about: string
  input: Omit<CreateSessionInput, 'name'>
  /** Oldest first. */
  expected: ExpectedAttempt[]
  /** Printed by the last attempt. */
  prints?: RegExp
  /** Terminated by a person as soon as it runs. */
  cancelled?: boolean
}

const failed = (failureCause: string, phase: string, more: Partial<ExpectedAttempt> = {}): ExpectedAttempt => ({
  status: 'ERROR',
  failureCause,
  phase,
  ...more,
})
const succeeded: ExpectedAttempt = { status: 'TERMINATED', failureCause: null, phase: 'SUCCEEDED', exitCode: 0 }

export const CASES: readonly DemoCase[] = [
  {
    name: 'primes',
    about: 'exits with 3, then eats more memory than its slot, then goes on from its checkpoint and succeeds',
    input: {
      command: [process.execPath, COUNT_PRIMES, '30', '1:8:exit', '2:20:memory'],
      resourceSlots: [
        { slot: 'cpu', amount: '1' },
        { slot: 'mem', amount: '256m' },
      ],
      retryPolicy: { maxRetries: 3, retryDelay: 1, backoff: 'EXPONENTIAL', backoffMultiplier: 1.5 },
    },
    expected: [
      failed('KERNEL_NONZERO_EXIT', 'DISPATCHED', { exitCode: 3 }),
      failed('OOM_KILLED', 'DISPATCHED', { oomKilled: true }),
      succeeded,
    ],
    prints: /goes on from step 20 [^]*216816 primes below 3000000/,
  },
  {
    name: 'hopeless',
    about: 'fails each time, until its retries are used up',
    input: {
      command: ['sh', '-c', 'echo "attempt $REPRISE_ATTEMPT of $REPRISE_MAX_ATTEMPTS fails too" >&2; exit 7'],
      retryPolicy: { maxRetries: 2, retryDelay: 0.5 },
    },
    expected: [
      failed('KERNEL_NONZERO_EXIT', 'DISPATCHED', { exitCode: 7 }),
      failed('KERNEL_NONZERO_EXIT', 'DISPATCHED', { exitCode: 7 }),
      failed('KERNEL_NONZERO_EXIT', 'EXHAUSTED', { exitCode: 7 }),
    ],
  },
  {
    name: 'no-image',
    about: 'asks for an image that does not exist',
    input: { image: 'no-such-image', command: ['true'], retryPolicy: { maxRetries: 1, retryDelay: 0.5 } },
    expected: [failed('IMAGE_PULL_FAILURE', 'DISPATCHED'), failed('IMAGE_PULL_FAILURE', 'EXHAUSTED')],
  },
  {
    name: 'cancelled',
    about: 'is ended by a person, and so not retried',
    input: { command: ['sleep', '600'], retryPolicy: { maxRetries: 5, retryDelay: 1 } },
    expected: [{ status: 'TERMINATED', failureCause: 'USER_CANCELLED', phase: 'NOT_ELIGIBLE' }],
    cancelled: true,
  },
  {
    name: 'survivor',
    about: 'runs while the server is killed and comes back, and notices nothing',
    input: {
      command: ['sh', '-c', 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo "tick $i"; sleep 1; done'],
      retryPolicy: { maxRetries: 5, retryDelay: 1 },
    },
    expected: [succeeded],
    prints: /tick 1\n[^]*tick 12\n/,
  },
]
