/** All kernels of a session run one image, and so do its retries, unless their policy differs. */
import { beforeEach, describe, expect, it } from 'vitest'
import type { KernelOrder } from '../../../src/domain/agent/protocol.ts'
import { NO_SYNC_POINTS } from '../../../src/observability/sync-points.ts'
import { resubmitSessions } from '../../../src/services/resubmission/resubmit-sessions.ts'
import type { CreateSessionInput } from '../../../src/services/session/create-session-input.ts'
import type { FakeAgent } from '../../support/agents/fake-agent.ts'
import { chainRows, kernelRows } from '../../support/database/session-rows.ts'
import { useFakeAgentApi } from '../../support/servers/fake-agent-api.ts'
import { driveAll, failWith } from '../../support/sessions/drive-session.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'

const digest = (digit: string) => `sha256:${digit.repeat(64)}`
const [OLD, NEW] = [digest('a'), digest('b')]

const given = useFakeAgentApi()
let agents: FakeAgent[]

beforeEach(async () => {
  agents = [await given.registered({ slots: { cpu: '1' } }), await given.registered({ slots: { cpu: '1' } })]
})

const SPREAD: Partial<CreateSessionInput> = { image: 'team/tool:1', clusterSize: 2, clusterMode: 'MULTI_NODE' }

/** It is placed, and each of its kernels waits for its order. */
async function placed(input: Partial<CreateSessionInput>): Promise<string> {
  const id = await given.server.create(input)
  await given.server.run('schedule-sessions', 'prepare-sessions')
  return id
}

/** Reports everything that the agent has as prepared, with this image. */
async function prepare(agent: FakeAgent, imageDigest: string): Promise<KernelOrder[]> {
  agent.obey(await agent.sync())
  return prepared(agent, imageDigest)
}

async function prepared(agent: FakeAgent, imageDigest: string): Promise<KernelOrder[]> {
  for (const [kernelId, { status }] of agent.kernels) {
    if (status === 'PREPARED') agent.observe(kernelId, { imageDigest })
  }
  return (await agent.sync()).orders
}

const wanted = (orders: readonly KernelOrder[]) =>
  orders.map((order) => (order.want === 'STOP' ? order : { want: order.want, imageDigest: order.spec.imageDigest }))

async function images(sessionId: string) {
  const { data } = await given.api.query(
    'query ($id: UUID!) { session(id: $id) { imageDigest requiredImageDigest retryDecision { explanation } } }',
    { id: sessionId },
    given.api.adminToken,
  )
  return data.session as {
    imageDigest: string | null
    requiredImageDigest: string | null
    retryDecision: { explanation: string } | null
  }
}

/** The statuses of its kernels. */
const statuses = async (id: string) => (await kernelRows(given.api.db, id)).map(({ status }) => status)

/** A first attempt that ran this image and failed, and its retry, which waits for its order. */
async function retried(retryPolicy: object): Promise<{ first: string; retry: string; agent: FakeAgent }> {
  const [agent] = agents as [FakeAgent]
  await given.api.db.query(`DELETE FROM agents WHERE id = $1`, [agents[1]!.id])
  const first = await placed({ image: 'team/tool:1', retryPolicy })
  await prepare(agent, OLD)
  await given.server.run('promote-to-prepared', 'start-sessions')
  await agent.comply()
  await given.server.run('promote-to-running')
  await failWith(given.server, agent, 1)
  await advanceClock(given.api.db, 5)
  await given.server.run('dispatch-retries', 'schedule-sessions', 'prepare-sessions')
  const [, child] = await chainRows(given.api.db, first)
  return { first, retry: child!.id, agent }
}

describe('the kernels of a session', () => {
  it('run the image that the first agent resolved', async () => {
    const id = await placed(SPREAD)
    const [one, other] = agents as [FakeAgent, FakeAgent]
    await prepare(one, OLD)
    expect(await images(id)).toMatchObject({ imageDigest: OLD, requiredImageDigest: null })
    expect(wanted((await other.sync()).orders)).toEqual([{ want: 'PREPARE', imageDigest: OLD }])
    expect(await prepare(other, OLD)).toEqual([])
    expect(await statuses(id)).toEqual(['PREPARED', 'PREPARED'])
  })

  it('that was prepared with another image is prepared again', async () => {
    const id = await placed(SPREAD)
    const [one, other] = agents as [FakeAgent, FakeAgent]
    other.obey(await other.sync())
    await prepare(one, OLD)
    const orders = await prepared(other, NEW)
    expect(wanted(orders)).toEqual([{ want: 'PREPARE', imageDigest: OLD }])
    expect((await statuses(id)).toSorted()).toEqual(['PREPARED', 'PREPARING'])
    await given.server.run('promote-to-prepared', 'start-sessions')
    expect(await prepared(other, OLD)).toEqual([])
    expect(await statuses(id)).toEqual(['PREPARED', 'PREPARED'])
  })

  it('run one image where two agents report two at the same time', async () => {
    const told: string[] = []
    for (let round = 0; round < 10; round++) {
      const id = await placed(SPREAD)
      await Promise.all(agents.map(async (agent) => agent.obey(await agent.sync())))
      const answers = await Promise.all(agents.map((agent, index) => prepared(agent, [OLD, NEW][index]!)))
      const { imageDigest } = await images(id)
      const loser = imageDigest === OLD ? 1 : 0
      expect(wanted(answers[loser]!)).toEqual([{ want: 'PREPARE', imageDigest }])
      expect(answers[1 - loser]).toEqual([])
      await prepared(agents[loser]!, imageDigest!)
      expect(await statuses(id)).toEqual(['PREPARED', 'PREPARED'])
      told.push(imageDigest!)
      await given.api.db.query(`UPDATE kernels SET status = 'TERMINATED', slots_held = false, confirmed_gone = true`)
      await given.api.db.query(`UPDATE sessions SET status = 'CANCELLED', terminated_at = reprise_now()`)
      for (const agent of agents) agent.kernels.clear()
    }
    expect(told).toHaveLength(10)
  })

  it('of another session, or of another agent, are none of an agent’s business', async () => {
    const id = await placed({ image: 'team/tool:1' })
    const [kernel] = await kernelRows(given.api.db, id)
    const [mine, stranger] = agents[0]!.id === kernel!.agent ? agents : agents.toReversed()
    mine!.obey(await mine!.sync())
    const theirs = await placed({ image: 'team/tool:1' })
    stranger!.obey(await stranger!.sync())
    stranger!.observe(kernel!.id, { status: 'PREPARED', imageDigest: NEW })
    await prepared(stranger!, NEW)
    expect(await images(theirs)).toMatchObject({ imageDigest: NEW })
    expect(await images(id)).toMatchObject({ imageDigest: null })
    mine!.observe(kernel!.id, { imageDigest: NEW, status: 'RUNNING' })
    await mine!.sync()
    expect(await images(id)).toMatchObject({ imageDigest: null })
    mine!.observe(kernel!.id, { imageDigest: 'sha256:no', status: 'PREPARED' })
    await mine!.sync()
    expect(await images(id)).toMatchObject({ imageDigest: null })
  })

  it('have no image on record where their executor has none', async () => {
    const id = await placed({ image: 'python' })
    await driveAll(given.server, agents[0]!, 'RUNNING')
    await agents[1]!.comply()
    expect(await images(id)).toMatchObject({ imageDigest: null, requiredImageDigest: null })
  })
})

describe('a retry', () => {
  it('runs the image of the attempt before', async () => {
    const { first, retry, agent } = await retried({ maxRetries: 1, retryDelay: 1 })
    expect(await images(retry)).toMatchObject({ imageDigest: null, requiredImageDigest: OLD })
    agent.obey(await agent.sync())
    expect(wanted(await prepared(agent, NEW))).toEqual([{ want: 'PREPARE', imageDigest: OLD }])
    expect(await images(retry)).toMatchObject({ imageDigest: null })
    expect(await prepared(agent, OLD)).toEqual([])
    expect(await images(retry)).toMatchObject({ imageDigest: OLD, requiredImageDigest: OLD })
    expect((await images(first)).retryDecision!.explanation).not.toContain('image')
  })

  it('of a policy that follows the tag report that they run another image', async () => {
    const { first, retry, agent } = await retried({ maxRetries: 1, retryDelay: 1, pinImage: false })
    expect(await images(retry)).toMatchObject({ imageDigest: null, requiredImageDigest: null })
    await prepare(agent, NEW)
    expect(await images(retry)).toMatchObject({ imageDigest: NEW })
    const { retryDecision } = await images(first)
    expect(retryDecision!.explanation).toContain(`; attempt 2 runs another image: ${NEW} in place of ${OLD}`)
    const { data } = await given.api.query(
      `query ($id: UUID!) { session(id: $id) { chain { changes(first: 5) { edges { node { attempt differences { field before after } } } } } } }`,
      { id: first },
      given.api.adminToken,
    )
    const [change] = data.session.chain.changes.edges
    expect(change.node).toEqual({ attempt: 2, differences: [{ field: 'imageDigest', before: OLD, after: NEW }] })
  })

  it('that a person asks for runs the same image, unless the request differs', async () => {
    const { first, retry, agent } = await retried({ maxRetries: 1, retryDelay: 1 })
    await prepare(agent, OLD)
    await given.server.run('promote-to-prepared', 'start-sessions')
    await agent.comply()
    await given.server.run('promote-to-running')
    await failWith(given.server, agent, 1)
    const context = { ...given.server.context, prisma: given.api.database.prisma, sync: NO_SYNC_POINTS }
    await resubmitSessions(context, { sessionIds: [retry] })
    const third = (await chainRows(given.api.db, first))[2]!
    expect(await images(third.id)).toMatchObject({ requiredImageDigest: OLD })
    await given.api.db.query(`UPDATE sessions SET status = 'CANCELLED', terminated_at = reprise_now() WHERE id = $1`, [
      third.id,
    ])
    await resubmitSessions(context, { sessionIds: [third.id], overrides: { retryPolicy: { pinImage: false } } })
    const fourth = (await chainRows(given.api.db, first))[3]!
    expect(await images(fourth.id)).toMatchObject({ requiredImageDigest: null })
  })

  it('of an attempt that moves to another agent resolves the image again', async () => {
    const id = await placed({ image: 'team/tool:1' })
    const [kernel] = await kernelRows(given.api.db, id)
    const agent = agents.find((each) => each.id === kernel!.agent)!
    await agent.sync()
    agent.observe(kernel!.id, { status: 'PULLING', imageDigest: OLD })
    await agent.sync()
    expect(await images(id)).toMatchObject({ imageDigest: OLD })
    await advanceClock(given.api.db, 901)
    await given.server.run('prepare-sessions')
    expect(await statuses(id)).toEqual(['PENDING'])
    expect(await images(id)).toMatchObject({ imageDigest: null })
  })
})
