import { describe, expect, test } from 'vitest'
import {
  exclusion,
  JobArgumentsError,
  requestArguments,
} from '../../../src/agent/executors/slurm/submit/job-arguments.ts'
import type { SlurmOptions } from '../../../src/agent/executors/slurm/slurm-host.ts'
import type { KernelSpec } from '../../../src/domain/agent/protocol.ts'
import { kernelSpec } from '../../contract/executor/executor-subject.ts'

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

describe('what a job is submitted with', () => {
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

  test('what the session or its group says stands before the project, and that before the agent', () => {
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

  test.each(['a b', '$(reboot)', 'x;y', "'", '-'.repeat(129)])('%j is nothing that Slurm is told', (qos) => {
    expect(() => argumentsOf({ executorOptions: { qos } })).toThrow(JobArgumentsError)
  })

  test.each([
    [false, ['--ntasks=3']],
    [true, ['--ntasks=3', '--nodes=1']],
  ])('kernels of one session are tasks of one job; on one node: %s', (singleNode, tasks) => {
    const spec = { gang: { size: 3, singleNode }, resourceSlots: { cpu: '2', mem: String(3 * 1024 ** 2) } }
    expect(argumentsOf(spec)).toEqual(['--cpus-per-task=2', '--mem-per-cpu=2M', ...tasks])
  })

  test('of several kernels each has GPUs of its own, and what Slurm cannot share out is refused', () => {
    const gres = { 'cuda.device': 'gpu', 'cuda.a100': 'gpu:a100', fpga: 'fpga' }
    const gang = { size: 2, singleNode: true }
    expect(argumentsOf({ resourceSlots: { 'cuda.device': '2' } }, { gres })).toContain('--gres=gpu:2')
    expect(argumentsOf({ gang, resourceSlots: { 'cuda.device': '2' } }, { gres })).toContain('--gpus-per-task=2')
    expect(argumentsOf({ gang, resourceSlots: { 'cuda.a100': '1' } }, { gres })).toContain('--gpus-per-task=a100:1')
    expect(() => argumentsOf({ gang, resourceSlots: { fpga: '1' } }, { gres })).toThrow(/fpga .*2 kernels/)
    expect(() => argumentsOf({ resourceSlots: { tpu: '1' } }, { gres })).toThrow(/tpu/)
  })

  test('nodes where it has failed are avoided while others could have it, those that failed last the longest', () => {
    const node = (name: string, cpus: number, usable = true) => ({ name, usable, amounts: new Map([['cpu', cpus]]) })
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
