/** GPUs that agents report: those of kernels with their use, and those of the agent with the sessions that have them. */
import { beforeEach, describe, expect, it } from 'vitest'
import type { ObservedGpu } from '../../../src/domain/gpu.ts'
import { fakeAgent, type FakeAgent } from '../../support/agents/fake-agent.ts'
import { useFakeAgentApi } from '../../support/servers/fake-agent-api.ts'
import { driveAll } from '../../support/sessions/drive-session.ts'

const GIB = 1024 ** 3
const given = useFakeAgentApi()
let agent: FakeAgent

function gpu(uuid: string): ObservedGpu {
  const figures = { temperatureCelsius: 40, usedMemoryBytes: null, utilization: null }
  const model = { name: 'NVIDIA A100-SXM4-40GB', memoryBytes: 40 * GIB }
  return { slot: 'cuda.device', uuid, index: 0, ...model, kernelId: null, fault: null, ...figures }
}

const GPUS = [gpu('GPU-a'), gpu('GPU-b')]
const USAGE = { meanUtilization: 0.25, peakUtilization: 1, energyJoules: 1200, gpuSeconds: 60 }

beforeEach(async () => {
  const slots = { cpu: '8', 'cuda.device': '2' }
  agent = fakeAgent(given.server.gateway, { slots, says: { gpus: GPUS } })
  await agent.register()
})

const SESSION = `query ($id: UUID!) { session(id: $id) {
  gpus { slot uuid index name memoryBytes } gpuUsage { peakMemoryBytes meanUtilization peakUtilization energyJoules gpuSeconds }
  kernels { gpus { uuid } gpuUsage { gpuSeconds } } } }`
const AGENT = `{ agents { edges { node { gpus { uuid inUse temperatureCelsius sessions { sessionId } } } } } }`

async function read(query: string, id?: string) {
  const { data, errors } = await given.api.query(query, id === undefined ? {} : { id }, given.api.adminToken)
  expect(errors).toBeUndefined()
  return data
}

describe('GPUs of a kernel', () => {
  it('are shown while it runs, with what it uses, and stay with it after its end', async () => {
    const id = await given.server.create({ gpus: { count: 1 } })
    await driveAll(given.server, agent, 'RUNNING')
    const [kernelId] = agent.kernels.keys()
    const [own] = GPUS.map(({ slot, uuid, index, name, memoryBytes }) => ({ slot, uuid, index, name, memoryBytes }))
    agent.observe(kernelId!, { gpus: [own!], gpuUsage: { peakMemoryBytes: GIB, ...USAGE } })
    await agent.sync()
    expect((await read(SESSION, id)).session).toEqual({
      gpus: [own],
      gpuUsage: { peakMemoryBytes: GIB, ...USAGE },
      kernels: [{ gpus: [{ uuid: 'GPU-a' }], gpuUsage: { gpuSeconds: 60 } }],
    })
    expect((await read(AGENT)).agents.edges[0].node.gpus).toMatchObject([
      { uuid: 'GPU-a', inUse: true, sessions: [{ sessionId: id }] },
      { uuid: 'GPU-b', inUse: false, sessions: [] },
    ])
    agent.observe(kernelId!, { status: 'EXITED', exitCode: 0, gpuUsage: { peakMemoryBytes: 2 * GIB, ...USAGE } })
    await agent.sync()
    expect((await read(SESSION, id)).session).toMatchObject({ gpus: [own], gpuUsage: { peakMemoryBytes: 2 * GIB } })
    expect((await read(AGENT)).agents.edges[0].node.gpus).toMatchObject([{ inUse: false }, { inUse: false }])
  })

  it('that make no sense are ignored, and hold nothing up', async () => {
    const id = await given.server.create({ gpus: { count: 1 } })
    await driveAll(given.server, agent, 'RUNNING')
    const [kernelId] = agent.kernels.keys()
    agent.observe(kernelId!, { gpus: [{ slot: 'x' }] as never, gpuUsage: { gpuSeconds: -1 } as never })
    await agent.sync()
    expect((await read(SESSION, id)).session).toMatchObject({ gpus: [], gpuUsage: null })
  })

  it('a sync brings the figures of the agent up to date', async () => {
    const { id: agentId, instanceId } = agent
    const gpus = GPUS.map((each) => ({ ...each, temperatureCelsius: 71 }))
    const sync = { agentId, instanceId, sequence: 1, observed: [], logs: [], waitMs: 0, gpus }
    await given.server.gateway.sync(sync, new AbortController().signal)
    expect((await read(AGENT)).agents.edges[0].node.gpus).toMatchObject([
      { temperatureCelsius: 71 },
      { temperatureCelsius: 71 },
    ])
  })
})
