/** Sessions that need GPUs of a model or a size: the input, the choice of an agent, and the order to it. */
import { beforeEach, describe, expect, it } from 'vitest'
import type { ObservedGpu } from '../../../src/domain/gpu.ts'
import { previewRetries } from '../../../src/services/retry/preview-retries.ts'
import { returnGpu, takeGpu } from '../../../src/services/agent/agents.ts'
import { updateRetry } from '../../../src/services/retry/change-retry.ts'
import { explainPendingSessions } from '../../../src/services/session/explain-pending.ts'
import { fakeAgent, type FakeAgent } from '../../support/agents/fake-agent.ts'
import { chainRows, decisionRow, kernelRows } from '../../support/database/session-rows.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'
import { driveAll, failWith } from '../../support/sessions/drive-session.ts'
import { useResubmission } from '../../support/sessions/resubmission.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'

const given = useScheduling()
const resubmit = useResubmission(given)
const GIB = 1024 ** 3

function gpu(uuid: string, name: string, gib: number): ObservedGpu {
  const figures = { temperatureCelsius: null, usedMemoryBytes: null, utilization: null }
  return { slot: 'cuda.device', uuid, index: 0, name, memoryBytes: gib * GIB, kernelId: null, fault: null, ...figures }
}

let large: FakeAgent
let small: FakeAgent

beforeEach(async () => {
  const slots = { cpu: '8', 'cuda.device': '2' }
  large = fakeAgent(given.server.gateway, {
    slots,
    says: { gpus: [gpu('GPU-a', 'NVIDIA A100-SXM4-40GB', 40), gpu('GPU-b', 'NVIDIA A100-SXM4-40GB', 40)] },
  })
  small = fakeAgent(given.server.gateway, {
    slots,
    says: { gpus: [gpu('GPU-t', 'Tesla T4', 15), gpu('GPU-u', 'Tesla T4', 15)] },
  })
  await large.register()
  await small.register()
})

async function agentOf(id: string): Promise<string | null> {
  await given.server.run('schedule-sessions')
  return (await kernelRows(given.db, id))[0]!.agent
}

const reasonOf = async (id: string) => (await explainPendingSessions(given.server.context, [id])).get(id)

describe('GPUs by model and memory', () => {
  it('a session goes to an agent that has them, with the need in its order, and waits while they are taken', async () => {
    const { server } = given
    const first = await server.create({ gpus: { count: 2, model: 'A100' } })
    const [row] = await given.sql(`SELECT resource_slots FROM sessions WHERE id = $1`, [first])
    expect(row).toEqual({ resource_slots: { cpu: '1', 'cuda.device': '2' } })
    expect(await agentOf(first)).toBe(large.id)
    expect(await agentOf(await server.create({ gpus: { memory: '16g' } }))).toBe(small.id)
    const second = await server.create({ gpus: { memory: '32 GiB' } })
    expect(await agentOf(second)).toBeNull()
    expect(await reasonOf(second)).toMatchObject({
      impossible: false,
      text: 'needs cuda.device 1 with 32 GiB on one agent, which no agent of resource group default has free',
    })
    await server.run('prepare-sessions')
    const { orders } = await large.sync()
    expect(orders).toMatchObject([{ want: 'PREPARE', spec: { gpuNeed: { model: 'A100', memoryBytes: null } } }])
  })

  it('what nobody has is reported at once', async () => {
    const id = await given.server.create({ gpus: { memory: '80g' } })
    expect(await reasonOf(id)).toEqual({
      impossible: true,
      text: 'impossible: no agent of resource group default has a GPU with 80 GiB; the largest has 40 GiB',
    })
    const part = await given.server.create({ resourceSlots: [{ slot: 'cuda.device', amount: '0.5' }] })
    expect((await reasonOf(part))!.text).toContain('shares its GPUs (REPRISE_GPU_SHARING)')
  })

  it('retries keep it', async () => {
    const { server, db } = given
    const id = await server.create({ gpus: { model: 'a100' }, retryPolicy: { maxRetries: 1, retryDelay: 1 } })
    expect(await agentOf(id)).toBe(large.id)
    await driveAll(server, large, 'RUNNING')
    await failWith(server, large, 1)
    await advanceClock(db, 5)
    await server.run('dispatch-retries')
    const { rows } = await db.query(`SELECT gpu_need FROM sessions WHERE parent_session_id = $1`, [id])
    expect(rows).toEqual([{ gpu_need: { model: 'a100', memoryBytes: null } }])
  })

  describe('a rule that grows GPU memory', () => {
    const scaleGpuMemory = { factor: 2, max: '80g' }
    const retryPolicy = {
      maxRetries: 2,
      retryDelay: 1,
      jitter: 'NONE' as const,
      rules: [{ match: { reason: 'gpu-memory' }, action: 'RETRY' as const, delay: 0, scaleGpuMemory }],
    }
    const ranOutOfMemory = { name: 'gpu-memory', message: 'its output says so', exitCode: 1 }

    async function runOutOfMemory(agent: FakeAgent, gpus: ObservedGpu[] | undefined): Promise<void> {
      await driveAll(given.server, agent, 'RUNNING')
      const [kernelId] = [...agent.kernels].find(([, { status }]) => status === 'RUNNING')!
      agent.observe(kernelId, { error: ranOutOfMemory, ...(gpus && { gpus }) })
      await failWith(given.server, agent, 1)
    }

    it('starts from the GPU that the attempt had, and ends where no agent has one', async () => {
      const { server, db, sql } = given
      const id = await server.create({ gpus: { count: 1 }, avoidAgents: [large.id], retryPolicy })
      await runOutOfMemory(small, [gpu('GPU-t', 'Tesla T4', 15)])
      expect(await decisionRow(db, id)).toMatchObject({
        phase: 'SCHEDULED',
        explanation: expect.stringContaining('GPU memory 15 GiB → 30 GiB'),
      })
      expect(await server.run('dispatch-retries')).toEqual([1])
      const [, second] = await chainRows(db, id)
      expect(await agentOf(second!.id)).toBe(large.id)
      const { schedule } = await previewRetries(server.context, {
        policy: { rules: [{ match: {}, action: 'RETRY', scaleGpuMemory: { factor: 2 } }] },
        sessionId: second!.id,
      })
      expect(schedule.map(({ gpuMemoryBytes }) => gpuMemoryBytes)).toEqual([60 * GIB])
      await runOutOfMemory(large, [gpu('GPU-a', 'NVIDIA A100-SXM4-40GB', 40)])
      expect(await server.run('dispatch-retries')).toEqual([1])
      const [, , third] = await chainRows(db, id)
      expect(await sql('SELECT gpu_need FROM sessions WHERE id = $1', [third!.id])).toEqual([
        { gpu_need: { model: null, memoryBytes: 60 * GIB } },
      ])
      expect(await reasonOf(third!.id)).toEqual({
        impossible: true,
        text: 'impossible: no agent of resource group default has a GPU with 60 GiB; the largest has 40 GiB',
      })
    })

    it('explains why nothing grows if nothing is known', async () => {
      const { server, db } = given
      const id = await server.create({ gpus: { model: 'T4' }, retryPolicy })
      await runOutOfMemory(small, undefined)
      expect(await decisionRow(db, id)).toMatchObject({
        explanation: expect.stringContaining('GPU memory cannot grow: the session asks for no amount'),
      })
    })
  })

  describe('changes by people', () => {
    const needOf = async (id: string) =>
      (await given.sql(`SELECT gpu_need AS need, resource_slots AS slots FROM sessions WHERE id = $1`, [id]))[0]

    async function failed(input: object): Promise<string> {
      const retryPolicy = { maxRetries: 1, retryDelay: 60, jitter: 'NONE' as const }
      const id = await given.server.create({ retryPolicy, ...input })
      await driveAll(given.server, large, 'RUNNING')
      await failWith(given.server, large, 1)
      return id
    }

    it('a resubmission changes model, memory and number, each by itself, and null removes a condition', async () => {
      const first = await failed({ gpus: { count: 1, model: 'A100' } })
      const resubmitted = async (sessionId: string, overrides: object) => {
        const { sessionIds, refused } = await resubmit({ sessionIds: [sessionId], overrides })
        expect(refused).toEqual([])
        await driveAll(given.server, large, 'RUNNING')
        await failWith(given.server, large, 1)
        return sessionIds[0]!
      }
      const second = await resubmitted(first, { gpus: { memory: '40g' } })
      expect(await needOf(second)).toEqual({
        need: { model: 'A100', memoryBytes: 40 * GIB },
        slots: { cpu: '1', 'cuda.device': '1' },
      })
      const third = await resubmitted(second, { gpus: { count: 2, model: null } })
      expect(await needOf(third)).toEqual({
        need: { model: null, memoryBytes: 40 * GIB },
        slots: { cpu: '1', 'cuda.device': '2' },
      })
      const fourth = await resubmitted(third, { gpus: { memory: null }, priority: 3 })
      expect(await needOf(fourth)).toEqual({ need: null, slots: { cpu: '1', 'cuda.device': '2' } })
      const { rows } = await given.db.query(`SELECT overrides FROM resubmissions ORDER BY id`)
      expect(rows.map(({ overrides }) => overrides)).toEqual([
        { gpus: { memory: 40 * GIB } },
        { gpus: { model: null }, resourceSlots: { 'cuda.device': '2' } },
        { gpus: { memory: null }, priority: 3 },
      ])
    })

    it('a resubmission with a condition gives a GPU to a session that had none', async () => {
      const first = await failed({ allowAgents: [large.id] })
      const { sessionIds } = await resubmit({ sessionIds: [first], overrides: { gpus: { model: 'a100' } } })
      expect(await needOf(sessionIds[0]!)).toEqual({
        need: { model: 'a100', memoryBytes: null },
        slots: { cpu: '1', 'cuda.device': '1' },
      })
    })

    it('a resubmission that contradicts itself is refused', async () => {
      const overrides = { gpus: { count: 1, memory: 'much' }, resourceSlots: [{ slot: 'rocm.device', amount: '1' }] }
      await expect(resubmit({ sessionIds: [large.id], overrides })).rejects.toMatchObject({
        issues: [{ path: 'overrides.gpus.memory' }, { path: 'overrides.gpus.count' }],
      })
    })

    it('a waiting retry gets other GPUs, which stay when it is decided again, and for the attempts after it', async () => {
      const { server, db } = given
      const id = await failed({ gpus: { count: 1, model: 'A100' } })
      const change = (input: object) => updateRetry(server.context, { sessionId: id, ...input })
      await change({ gpus: { memory: '40g' } })
      expect(await decisionRow(db, id)).toMatchObject({
        explanation: 'retry 1 of 1: exit code 1; waits 60 s; GPU memory any → 40 GiB; resources changed by ada',
      })
      await change({ gpus: { model: null, count: 2 } })
      expect(await decisionRow(db, id)).toMatchObject({
        explanation:
          'retry 1 of 1: exit code 1; waits 60 s; cuda.device 1 → 2, GPU model A100 → any, GPU memory any → 40 GiB; ' +
          'resources changed by ada',
      })
      await change({ policy: { retryDelay: 1 } })
      await expect(change({ gpus: { memory: '40 GB' } })).rejects.toMatchObject({ issues: [{ path: 'gpus.memory' }] })
      const log = await given.sql(
        `SELECT details -> 'given' AS given, details -> 'before' AS before FROM audit_log WHERE action = 'retry.update' ORDER BY id`,
      )
      expect(log.slice(0, 2)).toEqual([
        { given: { gpus: { memory: 40 * GIB } }, before: { gpus: null } },
        {
          given: { gpus: { model: null }, resourceSlots: { 'cuda.device': '2' } },
          before: { gpus: { memory: 40 * GIB }, resourceSlots: {} },
        },
      ])
      await advanceClock(db, 5)
      expect(await server.run('dispatch-retries')).toEqual([1])
      const [, child] = await chainRows(db, id)
      expect(await needOf(child!.id)).toEqual({
        need: { model: null, memoryBytes: 40 * GIB },
        slots: { cpu: '1', 'cuda.device': '2' },
      })
    })
  })

  describe('out of service by hand', () => {
    const A = { uuid: 'GPU-a', fault: 'taken out by ada: fan noise' }
    const reported = (fault: string | null) => [
      { ...gpu('GPU-a', 'NVIDIA A100-SXM4-40GB', 40), fault },
      gpu('GPU-b', 'NVIDIA A100-SXM4-40GB', 40),
    ]
    const take = (uuid: string) => takeGpu(given.server.context, { agentId: large.id, uuid, reason: 'fan noise' })
    const giveBack = (uuid: string) => returnGpu(given.server.context, { agentId: large.id, uuid })
    const wishes = async (agent: FakeAgent) => {
      const { takeGpus = [], returnGpus = [] } = await agent.sync()
      return { takeGpus, returnGpus }
    }
    /** The same agent, whose program has been started again and reports these GPUs. */
    async function restarted(says: { gpus: ObservedGpu[]; gpuFault?: string }): Promise<FakeAgent> {
      const agent = fakeAgent(given.server.gateway, { id: large.id, slots: { cpu: '8', 'cuda.device': '1' }, says })
      await agent.register()
      return agent
    }
    const WANTED = { takeGpus: [{ uuid: A.uuid, reason: A.fault }], returnGpus: [] }
    const NOTHING = { takeGpus: [], returnGpus: [] }

    it('the agent is asked until it reports it, also after a restart', async () => {
      await take('GPU-a')
      expect(await wishes(large)).toEqual(WANTED)
      expect(await wishes(large)).toEqual(WANTED)
      const again = await restarted({ gpus: reported(null) })
      expect(await wishes(again)).toEqual(WANTED)
      expect(await wishes(await restarted({ gpus: reported(A.fault) }))).toEqual(NOTHING)
      const log = await given.sql(`SELECT details FROM audit_log WHERE action = 'agent.gpu_take'`)
      expect(log).toMatchObject([{ details: { agentId: large.id, uuid: 'GPU-a', reason: 'fan noise' } }])
    })

    it('an agent that cannot see its GPUs now is asked once it can; one whose GPU is gone is not', async () => {
      await take('GPU-a')
      const blind = await restarted({ gpus: [], gpuFault: 'nvidia-smi: no answer' })
      expect(await wishes(blind)).toEqual(NOTHING)
      expect(await wishes(await restarted({ gpus: reported(null) }))).toEqual(WANTED)
      await restarted({ gpus: reported(null).slice(1) })
      expect(await wishes(await restarted({ gpus: reported(null) }))).toEqual(NOTHING)
    })

    it('the last wish counts', async () => {
      await take('GPU-a')
      await giveBack('GPU-a')
      expect(await wishes(large)).toEqual({ takeGpus: [], returnGpus: ['GPU-a'] })
      await take('GPU-a')
      expect(await wishes(large)).toEqual(WANTED)
      const out = await restarted({ gpus: reported(A.fault) })
      await giveBack('GPU-a')
      expect(await wishes(out)).toEqual({ takeGpus: [], returnGpus: ['GPU-a'] })
      await take('GPU-a')
      expect(await wishes(out)).toEqual(WANTED)
    })

    it('is only for a GPU in service, of an agent that exists, and for administrators', async () => {
      const { context } = given.server
      await restarted({ gpus: reported('1 uncorrected memory errors (ECC)') })
      await expect(take('GPU-a')).rejects.toMatchObject({ code: 'GPU_NOT_FOUND' })
      await expect(take('GPU-z')).rejects.toMatchObject({ code: 'GPU_NOT_FOUND' })
      const agentId = '01990000-0000-7000-8000-000000000000'
      await expect(takeGpu(context, { agentId, uuid: 'GPU-b' })).rejects.toMatchObject({ code: 'AGENT_NOT_FOUND' })
      const member = { ...context, viewer: { ...context.viewer, role: 'MEMBER' as const } }
      await expect(takeGpu(member, { agentId: large.id, uuid: 'GPU-b' })).rejects.toMatchObject({ code: 'FORBIDDEN' })
    })
  })

  it('what contradicts itself is refused', async () => {
    const { server } = given
    const twice = { gpus: { count: 1 }, resourceSlots: [{ slot: 'cuda.device', amount: '1' }] }
    await expect(server.create(twice)).rejects.toMatchObject({ issues: [{ path: 'gpus.count' }] })
    await expect(server.create({ gpus: { memory: '40 GB' } })).rejects.toMatchObject({
      issues: [{ path: 'gpus.memory' }],
    })
    const broken = { resourceSlots: [{ slot: 'cuda.device', amount: '1.5' }] }
    await expect(server.create(broken)).rejects.toMatchObject({ issues: [{ path: 'resourceSlots' }] })
  })
})
