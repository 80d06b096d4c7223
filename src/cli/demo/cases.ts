import { join } from 'node:path'
import type { Client, CreateSessionInput } from '../../client/node/index.ts'
import { styleText } from 'node:util'

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
  /** Expected attempts, oldest first. */
  expected: ExpectedAttempt[]
  /** Text that the last attempt must print. */
  prints?: RegExp
  /** Whether a person terminates it as soon as it runs. */
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
    about: 'exits with 3, then uses more memory than its slot allows, then continues from its checkpoint and succeeds',
    input: {
      command: [process.execPath, COUNT_PRIMES, '30', '1:8:exit', '2:20:memory'],
      resourceSlots: [
        { slot: 'cpu', amount: '1' },
        { slot: 'mem', amount: '256m' },
      ],
      retryPolicy: { maxRetries: 3, retryDelay: 1, backoff: 'EXPONENTIAL', backoffMultiplier: 1.5 },
      // Asked for, they are waited for: the agent tells of them only after the end.
      outputs: { paths: ['primes.txt'] },
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
    about: 'is cancelled by a person, so it is not retried',
    input: { command: ['sleep', '600'], retryPolicy: { maxRetries: 5, retryDelay: 1 } },
    expected: [{ status: 'TERMINATED', failureCause: 'USER_CANCELLED', phase: 'NOT_ELIGIBLE' }],
    cancelled: true,
  },
  {
    name: 'survivor',
    about: 'runs on undisturbed while the server is killed and restarted',
    input: {
      command: ['sh', '-c', 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo "tick $i"; sleep 1; done'],
      retryPolicy: { maxRetries: 5, retryDelay: 1 },
    },
    expected: [succeeded],
    prints: /tick 1\n[^]*tick 12\n/,
  },
]

export interface Attempt {
  sessionId: string
  attempt: number
  status: string
  result: string
  exitCode: number | null
  failureCause: string | null
  retryState: { phase: string; reason: string | null; dueAt: string | null }
  kernels: { oomKilled: boolean; logs: { edges: { node: { text: string } }[] } }[]
}

const CHAIN_QUERY = `query Chain($id: UUID!) { session(id: $id) { retryChain {
  sessionId attempt status result exitCode failureCause retryState { phase reason dueAt }
  kernels { oomKilled logs(first: 100) { edges { node { text } } } } } } }`

/** Reads all attempts of the chain that this session belongs to, oldest first. */
export async function readChain(client: Client, sessionId: string): Promise<Attempt[]> {
  const data = await client.request<{ session: { retryChain: Attempt[] } | null }>(CHAIN_QUERY, { id: sessionId })
  if (!data.session) throw new Error(`session ${sessionId} is gone`)
  return data.session.retryChain
}

function logOf(attempt: Attempt): string {
  return attempt.kernels.flatMap(({ logs }) => logs.edges.map(({ node }) => node.text)).join('')
}

/** Draws one line per attempt, indented below the previous one. */
export function drawChain(name: string, chain: readonly Attempt[]): string {
  const lines = chain.map((attempt, depth) => {
    const branch = depth === 0 ? '' : `${'   '.repeat(depth - 1)}└─ `
    return `      ${branch}${depth === 0 ? name : ''}${depth === 0 ? ': ' : ''}${describe(attempt)}`
  })
  return lines.join('\n')
}

function describe({ attempt, status, result, exitCode, failureCause, retryState }: Attempt): string {
  const outcome = [failureCause, exitCode === null ? null : `exit ${exitCode}`].filter((part) => part !== null)
  const words = [
    `attempt ${attempt}`,
    styleText(colourOf(status), result === 'SUCCESS' ? 'SUCCEEDED' : status),
    ...outcome,
  ]
  if (hasEndedStatus(status)) words.push(styleText('dim', `[${retryState.phase}]`))
  return words.join(' ')
}

function colourOf(status: string): 'green' | 'red' | 'yellow' | 'cyan' {
  if (status === 'TERMINATED') return 'green'
  if (status === 'ERROR') return 'red'
  return status === 'CANCELLED' ? 'yellow' : 'cyan'
}

function hasEndedStatus(status: string): boolean {
  return ['TERMINATED', 'ERROR', 'CANCELLED'].includes(status)
}

/** Lists all deviations of a case's chain from the expected one. */
export function checkCase(demoCase: DemoCase, chain: readonly Attempt[]): string[] {
  const faults: string[] = []
  if (chain.length !== demoCase.expected.length) {
    faults.push(`has ${chain.length} attempts, should have ${demoCase.expected.length}`)
  }
  for (const [index, expected] of demoCase.expected.entries()) {
    const attempt = chain[index]
    if (attempt) faults.push(...checkAttempt(attempt, expected))
  }
  const last = chain.at(-1)
  if (demoCase.prints && last && !demoCase.prints.test(logOf(last))) {
    faults.push(`its last attempt printed ${JSON.stringify(logOf(last))}, which lacks ${demoCase.prints}`)
  }
  return faults.map((fault) => `${demoCase.name}: ${fault}`)
}

function checkAttempt(attempt: Attempt, expected: ExpectedAttempt): string[] {
  const oomKilled = attempt.kernels.some((kernel) => kernel.oomKilled)
  const found: Record<keyof ExpectedAttempt, unknown> = { ...attempt, phase: attempt.retryState.phase, oomKilled }
  return Object.entries(expected).flatMap(([key, value]) => {
    const actual = found[key as keyof ExpectedAttempt]
    return actual === value
      ? []
      : [`attempt ${attempt.attempt} has ${key} ${String(actual)}, should have ${String(value)}`]
  })
}
