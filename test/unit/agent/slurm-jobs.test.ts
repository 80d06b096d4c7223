import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseStatus } from '../../../src/agent/executors/kernels/shim-status.ts'
import { parseCapacity } from '../../../src/agent/executors/slurm/capacity.ts'
import { type JobEvidence, judgeJob } from '../../../src/agent/executors/slurm/judge-job.ts'
import { firstNode, type JobRow, parseSqueue } from '../../../src/agent/executors/slurm/slurm-status.ts'
import type { SlurmOptions } from '../../../src/agent/executors/slurm/slurm-host.ts'
import { parseJobStatus } from '../../../src/agent/executors/slurm/slurm-status.ts'
import {
  exclusion,
  JobArgumentsError,
  requestArguments,
} from '../../../src/agent/executors/slurm/submit/job-arguments.ts'
import { endedBeforeStop, endedInTime, uptimeAt } from '../../../src/agent/executors/time-limit.ts'
import type { KernelSpec } from '../../../src/domain/agent/protocol.ts'
import { kernelSpec } from '../../contract/executor/executor-subject.ts'
import { checkProperty } from '../../support/seeds.ts'

describe('arguments of sbatch', () => {
  const OPTIONS: SlurmOptions = {
    directory: '/shared',
    accounts: {},
    users: null,
    gres: {},
    queueFactor: 4,
    queueJobs: 1_000,
    pollMs: 5_000,
    capacityMs: 60_000,
    images: {},
    args: [],
  }

  function argumentsOf(spec: Partial<KernelSpec>, options: Partial<SlurmOptions> = {}): string[] {
    return requestArguments(kernelSpec({ resourceSlots: {}, ...spec }), { ...OPTIONS, ...options })
  }

  describe('arguments of a submitted job', () => {
    test.each([
      [undefined, []],
      [10, []],
      [20, []],
      [100, []],
      [9, ['--nice=10']],
      [0, ['--nice=100']],
    ])('a priority of %s is %j', (priority, nice) => {
      expect(argumentsOf(priority === undefined ? {} : { priority })).toEqual(['--cpus-per-task=1', ...nice])
    })

    test.each([
      [null, []],
      [1, ['--time=3']],
      [60_000, ['--time=3']],
      [3_600_000, ['--time=62']],
    ])('a timeout of %s ms is %j', (batchTimeoutMs, time) => {
      expect(argumentsOf({ batchTimeoutMs })).toEqual(['--cpus-per-task=1', ...time])
    })

    test('options of the session or its group precede those of the project, and these those of the agent', () => {
      const options = {
        partition: 'main',
        account: 'all',
        accounts: { physics: 'phys' },
        qos: 'low',
        args: ['--wckey=x'],
      }
      expect(argumentsOf({}, options)).toEqual([
        '--cpus-per-task=1',
        '--partition=main',
        '--account=all',
        '--qos=low',
        '--wckey=x',
      ])
      const executorOptions = { qos: 'high', exclusive: 'true', entrypoint: 'none' }
      expect(argumentsOf({ projectName: 'physics', executorOptions }, options)).toEqual([
        '--cpus-per-task=1',
        '--partition=main',
        '--account=phys',
        '--qos=high',
        '--exclusive',
        '--wckey=x',
      ])
    })

    test.each(['a b', '$(reboot)', 'x;y', "'", '-'.repeat(129)])('%j is not passed to Slurm', (qos) => {
      expect(() => argumentsOf({ executorOptions: { qos } })).toThrow(JobArgumentsError)
    })

    test.each([
      [false, ['--ntasks=3']],
      [true, ['--ntasks=3', '--nodes=1']],
    ])('kernels of one session are tasks of one job; on one node: %s', (singleNode, tasks) => {
      const spec = { gang: { size: 3, singleNode }, resourceSlots: { cpu: '2', mem: String(3 * 1024 ** 2) } }
      expect(argumentsOf(spec)).toEqual(['--cpus-per-task=2', '--mem-per-cpu=2M', ...tasks])
    })

    test('each of several kernels has its own GPUs, and a number that Slurm cannot divide is refused', () => {
      const gres = { 'cuda.device': 'gpu', 'cuda.a100': 'gpu:a100', fpga: 'fpga' }
      const gang = { size: 2, singleNode: true }
      expect(argumentsOf({ resourceSlots: { 'cuda.device': '2' } }, { gres })).toContain('--gres=gpu:2')
      expect(argumentsOf({ gang, resourceSlots: { 'cuda.device': '2' } }, { gres })).toContain('--gpus-per-task=2')
      expect(argumentsOf({ gang, resourceSlots: { 'cuda.a100': '1' } }, { gres })).toContain('--gpus-per-task=a100:1')
      expect(() => argumentsOf({ gang, resourceSlots: { fpga: '1' } }, { gres })).toThrow(/fpga .*2 kernels/)
      expect(() => argumentsOf({ resourceSlots: { tpu: '1' } }, { gres })).toThrow(/tpu/)
    })

    test('nodes where it has failed are avoided while others could have it, those that failed last the longest', () => {
      const node = (name: string, cpus: number, usable = true) => ({
        name,
        usable,
        amounts: new Map([['cpu', cpus]]),
        gpus: [],
      })
      const avoiding = (avoidHosts: string[], nodes = [node('a', 4), node('b', 4)], more: Partial<KernelSpec> = {}) =>
        exclusion(kernelSpec({ resourceSlots: { cpu: '3' }, avoidHosts, ...more }), OPTIONS, nodes)
      expect(avoiding([])).toEqual([])
      expect(avoiding(['a'])).toEqual(['--exclude=a'])
      expect(avoiding(['a', 'b'])).toEqual(['--exclude=b'])
      expect(avoiding(['a', '$(id)', '--x'])).toEqual(['--exclude=a'])
      expect(avoiding(['a'], [])).toEqual([])
      expect(avoiding(['a'], [node('a', 4), node('b', 4, false)])).toEqual([])
      expect(avoiding(['a'], [node('a', 4), node('b', 2)])).toEqual([])
      const together = { gang: { size: 2, singleNode: true } }
      const apart = { gang: { size: 2, singleNode: false } }
      const three = [node('a', 6), node('b', 4), node('c', 4)]
      expect([avoiding(['a'], three, together), avoiding(['a'], three, apart)]).toEqual([[], ['--exclude=a']])
    })
  })
})

describe('judging a job', () => {
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
      whyNotRun: () => null,
      ofGpuMemory: () => null,
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
      ['lost a process to the limit', 'exit 0\n', row('OUT_OF_MEMORY'), { ...gone, exitCode: 0, oomKilled: true }],
      ['counted the kill itself', 'oom\nexit 0\n', 'unknown', { ...gone, oomKilled: true, error: named('oom-killed') }],
      ['failed of the kill', 'oom\nexit 3\n', row('RUNNING'), { ...gone, exitCode: 3, oomKilled: true }],
      ['was signalled after a kill', 'signalled\noom\nexit 0\n', row('PREEMPTED'), { ...gone, oomKilled: false }],
      ['heeded a preemption', 'signalled\nexit 0\n', row('PREEMPTED'), { ...gone, error: named('preempted') }],
      ['heeded the time limit', 'signalled\nexit 0\n', row('TIMEOUT'), { ...gone, error: named('task-timeout') }],
      [
        'heeded a requeue',
        'signalled\nexit 3\n',
        row('PENDING', '', 1),
        { ...gone, error: named('cancelled-outside') },
      ],
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
      expect(judge(BEGAN, row('PENDING', '', 1), { rowAgeMs: 1_000 })).toEqual({ kind: 'runs' })
      expect(judge(BEGAN, row('COMPLETING', '', 1))).toEqual({ kind: 'runs' })
    })

    test('a stopped job is not blamed on Slurm', () => {
      const stopped = { stopOrdered: true }
      expect(judge(BEGAN, row('CANCELLED'), stopped)).toMatchObject({ exitCode: 137, error: null, gone: true })
      expect(judge(`${BEGAN}signalled\nexit 143\n`, row('CANCELLED'), stopped)).toMatchObject({ error: null })
    })

    test('another start of the same job is an end that is not known to be gone', () => {
      expect(judge(BEGAN, row('COMPLETED'), { startedAgain: () => true })).toMatchObject({ gone: false })
    })
  })

  test('squeue is read by name and task, and impossible lines are ignored', () => {
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

  test('a partition offers the resources of its usable nodes', () => {
    const text =
      'n1|idle|0/16/0/16|4000|gpu:a100:2(S:0-1)|\nn2|mixed|8/8/0/16|8000|(null)|\nn3|down*|0/0/16/16|4000|(null)|\nn1|idle|0/16/0/16|4000|gpu:a100:2|\n'
    const capacity = parseCapacity(text, { 'cuda.device': 'gpu' }, 1.25)
    expect(capacity).toMatchObject({
      slots: { cpu: '40', mem: String(15_000 * 1024 ** 2), 'cuda.device': '2' },
      slotsPerKernelMax: { cpu: '16', mem: String(8_000 * 1024 ** 2), 'cuda.device': '2' },
    })
    expect(() => parseCapacity('sinfo: error\n', {}, 1)).toThrow('another format')
  })
})

describe('time limits of jobs', () => {
  const kernel = { spec: { batchTimeoutMs: 10_000 }, beganAt: 100, stopAt: null, ranSeconds: null }

  describe('whether a program ended within its time limit', () => {
    test.each([
      ['as long as it may', { ranSeconds: 10 }, true],
      ['longer by what the clock cannot tell', { ranSeconds: 10.01 }, true],
      ['longer', { ranSeconds: 10.1 }, false],
      ['for a time that nobody knows', {}, undefined],
      ['without a limit', { ranSeconds: 1e9, spec: {} }, undefined],
      ['without a limit, as null', { ranSeconds: 1e9, spec: { batchTimeoutMs: null } }, undefined],
    ])('that ran %s', (_, how, expected) => {
      expect(endedInTime({ ...kernel, ...how }, false)).toBe(expected)
    })

    test('a running one is reported as late once it should stop', () => {
      expect(endedInTime({ ...kernel, beganAt: -1e6, stopAt: 0 }, true)).toBe(false)
      expect(endedInTime({ ...kernel, beganAt: -1e6 }, true)).toBeUndefined()
      expect(endedInTime({ ...kernel, beganAt: 1e9, stopAt: 1e9 }, true)).toBeUndefined()
    })
  })

  test.each([
    [null, 5, false],
    [7, null, false],
    [7, 6.99, true],
    [7, 7, false],
    [7, 8, false],
  ])('a stop at %s is not why one ended at %s: %s', (stopAt, endedAt, expected) => {
    expect(endedBeforeStop({ stopAt }, endedAt)).toBe(expected)
  })

  describe('an end of which only the wall clock is known', () => {
    const seconds = (max: number) => fc.integer({ min: 0, max: max * 100 }).map((hundredths) => hundredths / 100)

    test('is found exactly while nobody sets the clock', () => {
      checkProperty(
        fc.property(
          seconds(1e6),
          seconds(1e5),
          seconds(1e5),
          fc.integer({ min: 0, max: 2e12 }),
          (up, ran, later, wall) => {
            const noticed = { uptime: up + ran + later, wallMs: wall + (ran + later) * 1000 }
            const at = uptimeAt(wall + ran * 1000, { uptime: up, wallMs: wall }, noticed)
            expect(at).toBeCloseTo(up + ran, 2)
          },
        ),
      )
    })

    test('is never before it was, and never after it was noticed, however the clock is set once meanwhile', () => {
      const jump = fc.integer({ min: -1e7, max: 1e7 })
      checkProperty(
        fc.property(seconds(1e5), seconds(1e5), jump, fc.boolean(), (ran, later, jumpMs, before) => {
          const began = { uptime: 50, wallMs: 1e12 }
          const noticed = { uptime: 50 + ran + later, wallMs: 1e12 + (ran + later) * 1000 + jumpMs }
          const at = uptimeAt(1e12 + ran * 1000 + (before ? jumpMs : 0), began, noticed)
          expect(at).toBeGreaterThanOrEqual(50 + ran - 0.001)
          expect(at).toBeLessThanOrEqual(noticed.uptime)
        }),
      )
    })
  })

  test('the file of a Slurm job', () => {
    const ended = 'began 5 n1\nran 100.25 103.50\nexit 0\n'
    expect(parseJobStatus(ended)).toMatchObject({ ranSeconds: 3.25, exitCode: 0, signalled: false, stopping: false })
    expect(parseJobStatus(`began 5 n1\nstopping\nran 1.00 2.00\nexit 143\n`)).toMatchObject({ stopping: true })
    expect(parseJobStatus(`${ended}signalled\n`)).toMatchObject({ signalled: false })
    expect(parseJobStatus(`began 5 n1\nsignalled\nexit 0\n`)).toMatchObject({ signalled: true, ranSeconds: null })
    for (const forged of ['ran 1e9 2', 'ran 1.00', 'ran $(id) 1.00', 'ran -1.00 2.00'])
      expect(parseJobStatus(`began 5 n1\n${forged}\nexit 0\n`).ranSeconds).toBeNull()
  })

  test('the file of a container', () => {
    expect(parseStatus('claimed ab\nbegan \nclocks 12.34 1700000000000\n').clocks).toEqual({
      uptime: 12.34,
      wallMs: 1_700_000_000_000,
    })
    expect(parseStatus('clocks 12.34\n').clocks).toBeNull()
  })
})
