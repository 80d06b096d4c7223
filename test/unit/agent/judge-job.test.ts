import { describe, expect, test } from 'vitest'
import { type JobEvidence, judgeJob } from '../../../src/agent/executors/slurm/judge-job.ts'
import { firstNode, type JobRow, parseJobStatus, parseSqueue } from '../../../src/agent/executors/slurm/slurm-status.ts'
import { parseCapacity } from '../../../src/agent/executors/slurm/capacity.ts'

const LATE = 100_000

function row(state: string, reason = '', restarts = 0): JobRow {
  const names = { jobId: '5', cancelId: '5', name: 'rp-a-1', uid: 1000, key: '1000 rp-a-1' }
  return { ...names, state, reason, node: 'n1', start: null, restarts, comment: '' }
}

function judge(status: string | null, slurm: JobEvidence['row'], overrides: Partial<JobEvidence> = {}) {
  return judgeJob({
    status: parseJobStatus(status),
    row: slurm,
    startedAgain: () => false,
    rowAgeMs: LATE,
    endedForMs: LATE,
    stopOrdered: false,
    stopError: null,
    memoryLimitBytes: 64,
    slurmOutput: () => 'no such directory',
    ...overrides,
  })
}

const BEGAN = 'began 5 n1\n'
const named = (name: string) => expect.objectContaining({ name })

describe('without a claim', () => {
  test.each([
    ['waits in Slurm', row('PENDING', 'Priority'), { kind: 'waits', reason: 'Priority' }],
    ['is held', row('PENDING', 'JobHeldAdmin'), { kind: 'waits', reason: 'JobHeldAdmin' }],
    ['Slurm is silent', 'unknown', { kind: 'waits', reason: null }],
    ['runs for long without a word', row('RUNNING'), { kind: 'not-run', again: true }],
    ['is unknown to Slurm', null, { kind: 'not-run', again: true, error: named('kernel-vanished') }],
    ['lost its node', row('NODE_FAIL'), { kind: 'not-run', again: true, error: named('node-failed') }],
    ['did not boot', row('BOOT_FAIL'), { kind: 'not-run', again: true, error: named('node-failed') }],
    ['was preempted', row('PREEMPTED'), { kind: 'not-run', again: true, error: named('preempted') }],
    ['was cancelled', row('CANCELLED'), { kind: 'not-run', again: false, error: named('cancelled-outside') }],
    ['missed its deadline', row('DEADLINE'), { kind: 'not-run', again: false, error: named('scheduler-timeout') }],
    [
      'could not be launched',
      row('FAILED', 'JobLaunchFailure'),
      { kind: 'not-run', again: false, error: { name: 'executor-failed', message: 'no such directory' } },
    ],
    ['ended without a word', row('COMPLETED'), { kind: 'not-run', again: true }],
  ] as const)('%s', (_, slurm, verdict) => {
    expect(judge(null, slurm)).toMatchObject(verdict)
  })

  test('a job that Slurm has only just started may be late', () => {
    expect(judge(null, row('RUNNING'), { rowAgeMs: 1_000 })).toMatchObject({ kind: 'waits' })
    expect(judge(null, row('COMPLETED'), { rowAgeMs: 1_000 })).toMatchObject({ kind: 'waits' })
  })
})

describe('claimed, and about to begin', () => {
  test.each([
    ['Slurm calls it running', row('RUNNING'), { kind: 'runs' }],
    ['another job of its name waits', row('PENDING', 'Priority'), { kind: 'runs' }],
    ['another job of its name was started again', row('RUNNING', '', 1), { kind: 'runs' }],
    ['it ended there', row('COMPLETED'), { kind: 'ended', exitCode: null, error: named('kernel-vanished') }],
  ] as const)('%s', (_, slurm, verdict) => {
    expect(judge('', slurm)).toMatchObject(verdict)
  })
})

describe('that has begun', () => {
  const gone = { kind: 'ended', gone: true }

  test.each([
    ['runs', '', row('RUNNING'), { kind: 'runs' }],
    ['is suspended', '', row('SUSPENDED'), { kind: 'runs' }],
    ['and Slurm is silent', '', 'unknown', { kind: 'runs' }],
    ['succeeded, whatever Slurm says', 'exit 0\n', row('NODE_FAIL'), { ...gone, exitCode: 0, error: null }],
    ['succeeded while Slurm is silent', 'exit 0\n', 'unknown', { ...gone, exitCode: 0, error: null }],
    ['failed', 'exit 3\n', row('COMPLETED'), { ...gone, exitCode: 3, error: null }],
    ['ran out of memory', 'exit 5\n', row('OUT_OF_MEMORY'), { ...gone, exitCode: 5, oomKilled: true }],
    ['lost a child to the limit', 'exit 0\n', row('OUT_OF_MEMORY'), { ...gone, exitCode: 0, oomKilled: false }],
    ['heeded a preemption', 'signalled\nexit 0\n', row('PREEMPTED'), { ...gone, error: named('preempted') }],
    ['heeded the time limit', 'signalled\nexit 0\n', row('TIMEOUT'), { ...gone, error: named('task-timeout') }],
    ['heeded a requeue', 'signalled\nexit 3\n', row('PENDING', '', 1), { ...gone, error: named('cancelled-outside') }],
    ['heeded scancel', 'signalled\nexit 0\n', row('CANCELLED'), { ...gone, error: named('cancelled-outside') }],
    ['was fenced', 'ending fence\nexit 143\n', 'unknown', { ...gone, exitCode: 143, error: named('agent-fenced') }],
    ['was fenced for good', 'ending fence\nkilled fence\n', null, { ...gone, error: named('agent-fenced') }],
    ['was killed for its memory', '', row('OUT_OF_MEMORY'), { ...gone, exitCode: 137, oomKilled: true }],
    ['was killed at its time limit', '', row('TIMEOUT'), { ...gone, exitCode: null, error: named('task-timeout') }],
    ['was killed by a preemption', '', row('PREEMPTED'), { ...gone, error: named('preempted') }],
    ['was killed by scancel', '', row('CANCELLED'), { ...gone, error: named('cancelled-outside') }],
    ['left no word', '', row('FAILED'), { ...gone, exitCode: null, error: named('kernel-vanished') }],
    ['waits again', '', row('PENDING'), { kind: 'ended', gone: false, error: named('node-failed') }],
    ['runs again', '', row('RUNNING', '', 1), { kind: 'ended', gone: false, error: named('node-failed') }],
    ['lost its node', '', row('NODE_FAIL'), { kind: 'ended', gone: false, error: named('node-failed') }],
    ['is unknown to Slurm', '', null, { kind: 'ended', gone: false, error: named('kernel-vanished') }],
  ] as const)('%s', (_, lines, slurm, verdict) => {
    expect(judge(BEGAN + lines, slurm)).toMatchObject(verdict)
  })

  test('the cause of a failure is waited for, and so is the exit line of another node', () => {
    expect(judge(`${BEGAN}exit 1\n`, row('RUNNING'), { endedForMs: 1_000 })).toEqual({ kind: 'runs' })
    expect(judge(BEGAN, row('FAILED'), { rowAgeMs: 1_000 })).toEqual({ kind: 'runs' })
    expect(judge(BEGAN, null, { rowAgeMs: 1_000 })).toEqual({ kind: 'runs' })
  })

  test('what was stopped is not blamed on Slurm', () => {
    const stopped = { stopOrdered: true }
    expect(judge(BEGAN, row('CANCELLED'), stopped)).toMatchObject({ exitCode: 137, error: null, gone: true })
    expect(judge(`${BEGAN}signalled\nexit 143\n`, row('CANCELLED'), stopped)).toMatchObject({ error: null })
  })

  test('another start of the same job is an end that is not known to be gone', () => {
    expect(judge(BEGAN, row('COMPLETED'), { startedAgain: () => true })).toMatchObject({ gone: false })
  })
})

test('squeue is read by name and task, and nothing is concluded from what it cannot have written', () => {
  const [plain, task] = parseSqueue(
    '5|5|rp-a-1|1000|N/A|PENDING|Priority||2026-01-02T03:04:05|0|a|b|\n8|7_3|rp-b|7|3|RUNNING|None|n[3-5,8]|N/A|1||\n',
  )
  expect(plain).toMatchObject({
    key: '1000 rp-a-1',
    uid: 1000,
    reason: 'Priority',
    start: '2026-01-02T03:04:05',
    comment: 'a|b',
  })
  expect(task).toMatchObject({ key: '7 rp-b_3', jobId: '8', cancelId: '7_3', node: 'n3', start: null, restarts: 1 })
  expect(() => parseSqueue('slurm_load_jobs error\n')).toThrow('another format')
  expect(() => parseSqueue('5|5|rp-a-1|N/A|PENDING|Priority||N/A|0|a|\n')).toThrow('another format')
  expect(firstNode('a,b[1-2]')).toBe('a')
})

test('a partition offers what its usable nodes have', () => {
  const text =
    'n1|idle|0/16/0/16|4000|gpu:a100:2(S:0-1)|\nn2|mixed|8/8/0/16|8000|(null)|\nn3|down*|0/0/16/16|4000|(null)|\nn1|idle|0/16/0/16|4000|gpu:a100:2|\n'
  const capacity = parseCapacity(text, { 'cuda.device': 'gpu' }, 1.25)
  expect(capacity).toMatchObject({
    slots: { cpu: '40', mem: String(15_000 * 1024 ** 2), 'cuda.device': '2' },
    slotsPerKernelMax: { cpu: '16', mem: String(8_000 * 1024 ** 2), 'cuda.device': '2' },
  })
  expect(() => parseCapacity('sinfo: error\n', {}, 1)).toThrow('another format')
})
