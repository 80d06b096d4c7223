import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Agent, createAgent } from '../../../src/agent/agent.ts'
import { createNoopExecutor } from '../../../src/agent/executors/noop/noop-executor.ts'
import { createProcessExecutor } from '../../../src/agent/executors/process/process-executor.ts'
import { scanProcesses } from '../../../src/agent/executors/process/proc-stat.ts'
import type { KernelSpec } from '../../../src/domain/agent/protocol.ts'
import { LOG_BYTES_PER_KERNEL_MAX, LOG_BYTES_PER_SYNC_MAX } from '../../../src/domain/limits.ts'
import { RepriseError } from '../../../src/domain/errors.ts'
import { eventually } from '../../support/eventually.ts'
import { kernelSpec } from '../executor/executor-subject.ts'
import { testLog } from '../executor/process-fixture.ts'
import { createMemoryGateway, type MemoryGateway } from './memory-gateway.ts'

let agentDir: string
let gateway: MemoryGateway
let agents: Agent[]

beforeEach(async () => {
  agentDir = await mkdtemp(join(tmpdir(), 'reprise-agent-'))
  gateway = createMemoryGateway()
  agents = []
})
afterEach(async () => {
  gateway.failure = null
  const agent = agents.at(-1)
  if (gateway.kernels.size > 0 && agent !== undefined) {
    gateway.orders = []
    gateway.forget = [...gateway.kernels.values()]
    gateway.wake()
    await eventually(() => gateway.syncs.at(-1)?.observed.length === 0)
  }
  for (const each of agents) await each.stop()
  await rm(agentDir, { recursive: true, force: true, maxRetries: 5 })
})

function newAgent(executor: 'process' | 'noop' = 'process'): Agent {
  const agent = createAgent({
    gateway,
    createExecutor: (hooks) =>
      executor === 'noop' ? createNoopExecutor(hooks) : createProcessExecutor({ agentDir, log: testLog }, hooks),
    agentDir,
    name: 'agent-1',
    resourceGroup: 'default',
    address: '127.0.0.1',
    version: '0',
    slots: { cpu: '2' },
    labels: {},
    log: testLog,
  })
  agents.push(agent)
  return agent
}

function order(command: string[]): KernelSpec {
  const spec = kernelSpec({ command })
  gateway.orders.push({ want: 'START', assignment: 1, spec })
  gateway.wake()
  return spec
}

/** Processes of this test alone have such an argument. */
function processesNamed(argument: string): number[] {
  return scanProcesses()
    .map(({ pid }) => pid)
    .filter((pid) => readCommandLine(pid) === `sleep\0${argument}\0`)
}

function readCommandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1')
  } catch {
    return ''
  }
}

const ended = (kernelId: string) =>
  eventually(() => {
    const kernel = gateway.kernels.get(kernelId)
    return (kernel?.status === 'EXITED' || kernel?.status === 'FAILED') && kernel
  })

test('takes an order, reports the end at once, and forgets when told', async () => {
  await newAgent().start()
  const { kernelId } = order(['sh', '-c', 'echo out; echo err >&2; exit 4'])
  const began = performance.now()
  expect(await ended(kernelId)).toMatchObject({ exitCode: 4, assignment: 1 })
  // Far below the long poll's 5 s: news interrupt it.
  expect(performance.now() - began).toBeLessThan(2_000)
  gateway.orders = []
  gateway.forget = [{ kernelId, assignment: 1 }]
  gateway.wake()
  await eventually(() => gateway.syncs.at(-1)?.observed.length === 0)
  expect(gateway.underWayMax).toBe(1)
})

test('whoever sees the end has seen the whole log', async () => {
  await newAgent().start()
  const { kernelId } = order(['sh', '-c', 'seq 1000000; echo done >&2'])
  await ended(kernelId)
  expect(gateway.text(kernelId, 'STDOUT')).toHaveLength(6_888_896)
  expect(gateway.text(kernelId, 'STDERR')).toBe('done\n')
  for (const { logs } of gateway.syncs) {
    expect(logs.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(LOG_BYTES_PER_SYNC_MAX)
  }
})

test('a flood is cut with a note, and the end is told', async () => {
  await newAgent().start()
  const { kernelId } = order(['sh', '-c', `head -c ${LOG_BYTES_PER_KERNEL_MAX + 100_000} /dev/zero | tr '\\0' x`])
  await ended(kernelId)
  const text = gateway.text(kernelId, 'STDOUT')
  expect(text.slice(0, LOG_BYTES_PER_KERNEL_MAX)).toMatch(/^x*$/)
  expect(text.slice(LOG_BYTES_PER_KERNEL_MAX)).toBe(
    `\n[reprise: output beyond ${LOG_BYTES_PER_KERNEL_MAX} bytes is not kept]\n`,
  )
}, 20_000)

test('lost answers lose and double nothing', async () => {
  await newAgent().start()
  gateway.answersToLose = 3
  const { kernelId } = order(['sh', '-c', 'for n in 1 2 3 4 5; do echo $n; sleep 0.1; done'])
  await eventually(() => gateway.kernels.get(kernelId)?.status === 'RUNNING')
  gateway.answersToLose = 3
  await ended(kernelId)
  expect(gateway.text(kernelId, 'STDOUT')).toBe('1\n2\n3\n4\n5\n')
})

test('an outage of the server costs no kernel, and registering waits for it', async () => {
  gateway.failure = new Error('away')
  await newAgent().start()
  gateway.failure = null
  await eventually(() => gateway.registrations.length === 1)
  const { kernelId } = order(['sh', '-c', 'sleep 0.3; echo out'])
  await eventually(() => gateway.kernels.get(kernelId)?.status === 'RUNNING')
  gateway.failure = new Error('away')
  gateway.wake()
  await eventually(() => gateway.failed > 3)
  gateway.failure = null
  expect(await ended(kernelId)).toMatchObject({ exitCode: 0 })
  expect(gateway.text(kernelId, 'STDOUT')).toBe('out\n')
})

test('registers again where the server does not know it any more', async () => {
  await newAgent().start()
  await eventually(() => gateway.syncs.length > 0)
  gateway.failure = new RepriseError('AGENT_UNKNOWN', 'who')
  gateway.wake()
  await eventually(() => gateway.failed > 0)
  gateway.failure = null
  await eventually(() => gateway.registrations.length === 2)
  expect(gateway.registrations[1]).toEqual(gateway.registrations[0])
})

test('an order that takes its time is not asked about without pause', async () => {
  await newAgent().start()
  const { kernelId } = order(['sh', '-c', 'trap "" TERM; echo ready; while :; do sleep 0.05; done'])
  await eventually(() => gateway.text(kernelId, 'STDOUT') === 'ready\n')
  const before = gateway.syncs.length
  gateway.orders = [{ want: 'STOP', assignment: 1, kernelId, graceMs: 1_500 }]
  gateway.wake()
  await ended(kernelId)
  expect(gateway.syncs.length - before).toBeLessThan(20)
})

test('stops when it is superseded', async () => {
  const agent = newAgent()
  await agent.start()
  await eventually(() => gateway.syncs.length > 0)
  gateway.registrations.push({ ...gateway.registrations[0]!, instanceId: 'another' })
  order(['true'])
  expect(await agent.done).toBe('superseded')
})

test('two agents never share a directory, and a stop frees it', async () => {
  const first = newAgent()
  await first.start()
  await expect(newAgent().start()).rejects.toThrow('belongs to an agent that runs')
  agents.pop()
  await first.stop()
  await newAgent().start()
  await eventually(() => gateway.registrations.length === 2)
  const [before, after] = gateway.registrations
  expect(after?.agentId).toBe(before?.agentId)
  expect(after?.instanceId).not.toBe(before?.instanceId)
})

test('kernels outlive a stop of the agent; logs go on where the server has them', async () => {
  const first = newAgent()
  await first.start()
  const { kernelId } = order(['sh', '-c', 'echo one; sleep 0.5; echo two; exit 6'])
  await eventually(() => gateway.text(kernelId, 'STDOUT') === 'one\n')
  await first.stop()
  await newAgent().start()
  expect(await ended(kernelId)).toMatchObject({ exitCode: 6 })
  expect(gateway.text(kernelId, 'STDOUT')).toBe('one\ntwo\n')
  expect(gateway.seen.filter(({ status }) => status === 'RUNNING')).toHaveLength(1)
})

test('without an answer for the fence it stops its kernels, and reports that later', async () => {
  gateway.fenceAfterMs = 700
  await newAgent().start()
  const { kernelId } = order(['sleep', '4711.25'])
  await eventually(() => gateway.kernels.get(kernelId)?.status === 'RUNNING')
  gateway.failure = new Error('away')
  gateway.wake()
  await eventually(() => processesNamed('4711.25').length === 0)
  gateway.failure = null
  expect(await ended(kernelId)).toMatchObject({ exitCode: 143 })
})

test('a fence that passed while no agent was there is applied by the next', async () => {
  gateway.fenceAfterMs = 2_500
  const first = newAgent()
  await first.start()
  const { kernelId } = order(['sleep', '4711.5'])
  await eventually(() => gateway.kernels.get(kernelId)?.status === 'RUNNING')
  gateway.failure = new Error('away')
  gateway.wake()
  await first.stop()
  await newAgent().start()
  await eventually(() => processesNamed('4711.5').length === 0)
  gateway.failure = null
  expect((await ended(kernelId)).exitCode).toBe(143)
}, 15_000)

test('many kernels that end at once travel together', async () => {
  await newAgent('noop').start()
  const specs = Array.from({ length: 2_000 }, () => kernelSpec({ command: ['noop'] }))
  gateway.orders = specs.map((spec) => ({ want: 'START', assignment: 1, spec }))
  const before = gateway.syncs.length
  gateway.wake()
  await eventually(() => specs.every(({ kernelId }) => gateway.kernels.get(kernelId)?.status === 'EXITED'))
  expect(gateway.syncs.length - before).toBeLessThan(10)
})
