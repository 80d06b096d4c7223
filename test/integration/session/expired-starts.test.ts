/** Sessions whose start expires, and how they are read afterwards. */
import { beforeEach, expect, test } from 'vitest'
import { driveAll, sessionIn } from '../../support/sessions/drive-session.ts'
import { passTime } from '../../support/sessions/pass-time.ts'
import type { PlayedAgent } from '../../support/agents/played-agent.ts'
import { kernelRows, sessionRow } from '../../support/database/session-rows.ts'
import { usePlayedApi } from '../../support/servers/played-api.ts'

const given = usePlayedApi()
let agent: PlayedAgent

beforeEach(async () => {
  agent = await registered('64')
})

const registered = (cpu: string) => given.registered({ slots: { cpu } })

const FIELDS = 'sessionId avoidAgents childSession { sessionId avoidAgents }'

async function avoided(id: string): Promise<unknown> {
  const { data, errors } = await given.api.query(
    `query ($id: UUID!) { session(id: $id) { ${FIELDS} } sessions { edges { node { ${FIELDS} } } } }`,
    { id },
    given.api.adminToken,
  )
  expect(errors).toBeUndefined()
  return data.session.avoidAgents
}

async function rest(path: string): Promise<{ status: number; body: any }> {
  const response = await fetch(`${given.api.url}${path}`, {
    headers: { authorization: `Bearer ${given.api.adminToken}` },
  })
  return { status: response.status, body: await response.json() }
}

async function agentOf(id: string): Promise<string | null> {
  return (await kernelRows(given.api.db, id))[0]!.agent
}

test('a start that expires leaves the session and its children readable in every answer', async () => {
  await given.api.db.query('UPDATE resource_groups SET reschedules_max = 1')
  const id = await sessionIn(given.server, agent, 'PREPARING', { retryPolicy: { maxRetries: 1, retryDelay: 1 } })
  await passTime(given.api.db, 901)
  await given.server.run('prepare-sessions')
  expect((await sessionRow(given.api.db, id)).status).toBe('PENDING')
  expect(await avoided(id)).toEqual([agent.id])
  expect((await rest(`/v2/sessions/${id}`)).status).toBe(200)

  await driveAll(given.server, agent, 'PREPARING')
  await passTime(given.api.db, 901)
  await given.server.run('prepare-sessions', 'terminate-sessions')
  await agent.comply()
  await given.server.run('promote-to-terminated', 'decide-retries')
  await passTime(given.api.db, 5)
  await given.server.run('dispatch-retries')
  expect(await avoided(id)).toEqual([agent.id])
  const { status, body } = await rest('/v2/sessions')
  expect({ status, attempts: body.items.map((one: { attempt: number }) => one.attempt) }).toEqual({
    status: 200,
    attempts: [2, 1],
  })
})

test.each([
  ['PREPARING', 'prepare-sessions', 901],
  ['CREATING', 'start-sessions', 601],
] as const)('%s until it expires: the next start is on another agent', async (status, handler, seconds) => {
  const id = await sessionIn(given.server, agent, status)
  expect(await agentOf(id)).toBe(agent.id)
  // Smaller, so that nothing but the expiry speaks for it.
  const other = await registered('2')
  await passTime(given.api.db, seconds)
  await given.server.run(handler)
  expect(await sessionRow(given.api.db, id)).toMatchObject({ status: 'PENDING', avoidAgents: [agent.id] })
  await passTime(given.api.db, 200)
  await given.server.run('schedule-sessions')
  expect(await agentOf(id)).toBe(other.id)
})

test('of several kernels only the agents of those that were late are remembered', async () => {
  const other = await registered('64')
  const id = await sessionIn(given.server, agent, 'PREPARING', {
    clusterSize: 2,
    clusterMode: 'MULTI_NODE',
    resourceSlots: [{ slot: 'cpu', amount: '40' }],
  })
  await other.comply()
  await passTime(given.api.db, 901)
  await given.server.run('prepare-sessions')
  expect(await sessionRow(given.api.db, id)).toMatchObject({ status: 'PENDING', avoidAgents: [agent.id] })
})

test('the queue of another scheduler has a timeout of its own, if its group has one', async () => {
  const { server, api } = given
  const retryPolicy = { maxRetries: 1, retryDelay: 1 }
  const id = await sessionIn(server, agent, 'CREATING', { retryPolicy })
  const kernelId = (await kernelRows(api.db, id))[0]!.id
  const starting = () => sessionRow(api.db, id)
  agent.observe(kernelId, { status: 'PREPARED', waiting: { reason: 'queued by Slurm: Priority' } })
  await agent.sync()
  await passTime(api.db, 3_000)
  await agent.sync()
  await server.run('start-sessions')
  expect((await starting()).status).toBe('CREATING')
  await api.db.query('UPDATE resource_groups SET queue_timeout_ms = 3600000')
  await server.run('start-sessions')
  expect((await starting()).status).toBe('CREATING')
  await passTime(api.db, 601)
  await agent.sync()
  await server.run('start-sessions')
  expect(await starting()).toMatchObject({
    status: 'TERMINATING',
    reason: 'waited longer than the 3600 s that its resource group allows (queueTimeout): queued by Slurm: Priority',
  })
  await server.run('terminate-sessions')
  await agent.comply()
  await server.run('promote-to-terminated', 'decide-retries')
  expect(await starting()).toMatchObject({ status: 'ERROR', cause: 'SCHEDULER_TIMEOUT' })
  await passTime(api.db, 5)
  await server.run('dispatch-retries')
  expect(await api.db.query('SELECT FROM sessions WHERE parent_session_id = $1', [id])).toMatchObject({ rowCount: 1 })
})
