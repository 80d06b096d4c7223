/** Draining, resuming and removing agents: what each does, and who may. */
import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { drainAgent, removeAgent, resumeAgent } from '../../../src/services/agent/agents.ts'
import { failWith, sessionIn } from '../../support/sessions/drive-session.ts'
import { passTime } from '../../support/sessions/pass-time.ts'
import { playedAgent } from '../../support/agents/played-agent.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'
import { history, sessionRow } from '../../support/database/session-rows.ts'

const given = useScheduling()
const refusal = (work: Promise<unknown>) =>
  work.then(
    () => 'nothing',
    (error: unknown) => error,
  )
const drain = (reason?: string) => drainAgent(given.server.context, { agentId: given.agent.id, reason })
const resume = () => resumeAgent(given.server.context, { agentId: given.agent.id })
const remove = () => refusal(removeAgent(given.server.context, { agentId: given.agent.id }))
const status = async () => (await given.sql('SELECT status FROM agents WHERE id = $1', [given.agent.id]))[0]!['status']
const lines = async () =>
  (
    await given.sql(
      `SELECT phase || ': ' || message AS line FROM scheduling_history WHERE entity_id = $1 ORDER BY id`,
      [given.agent.id],
    )
  ).map(({ line }) => line)

it('a drained agent finishes what it has, takes nothing new, and works again when it is resumed', async () => {
  const { server, agent, db } = given
  const running = await sessionIn(server, agent, 'RUNNING')
  await drain('a new disk')
  const next = await server.create()
  await server.run('schedule-sessions')
  expect(await status()).toBe('DRAINING')
  expect((await sessionRow(db, next)).status).toBe('PENDING')
  await failWith(server, agent, 0)
  expect(await sessionRow(db, running)).toMatchObject({ status: 'TERMINATED', result: 'SUCCESS' })
  await resume()
  await passTime(db, 5)
  await server.run('schedule-sessions')
  expect(await status()).toBe('ALIVE')
  expect((await sessionRow(db, next)).status).toBe('PREPARING')
  expect(await history(db, agent.id)).toEqual([
    'register-agent →ALIVE SUCCESS ×1',
    'drain-agent ALIVE→DRAINING SUCCESS ×1',
    'resume-agent DRAINING→ALIVE SUCCESS ×1',
  ])
  expect(await lines()).toEqual(['register-agent: registered', 'drain-agent: a new disk (ada)', 'resume-agent: by ada'])
  expect(
    await given.sql(
      `SELECT actor, action, details ->> 'reason' AS reason FROM audit_log WHERE action LIKE 'agent.%' ORDER BY id`,
    ),
  ).toEqual([
    { actor: 'ada', action: 'agent.drain', reason: 'a new disk' },
    { actor: 'ada', action: 'agent.resume', reason: null },
  ])
})

it('stays drained over a restart of its program, over silence, and over being lost', async () => {
  const { server, agent, db } = given
  await drain()
  await passTime(db, 20, { silentAgents: [agent.id] })
  await server.run('watch-agents')
  expect(await status()).toBe('DRAINING')
  await agent.register()
  expect(await status()).toBe('DRAINING')
  await passTime(db, 60, { silentAgents: [agent.id] })
  await server.run('watch-agents')
  expect(await status()).toBe('LOST')
  await agent.sync()
  expect(await status()).toBe('DRAINING')
  expect((await history(db, agent.id)).slice(-2)).toEqual([
    'watch-agents DRAINING→LOST EXPIRED ×1',
    'agent-sync LOST→DRAINING SUCCESS ×1',
  ])
})

it('one that is drained while it is suspected or lost is drained when it is heard again', async () => {
  const { server, agent, db } = given
  await passTime(db, 20, { silentAgents: [agent.id] })
  await server.run('watch-agents')
  expect(await status()).toBe('SUSPECT')
  await drain()
  expect(await status()).toBe('DRAINING')
  await passTime(db, 60, { silentAgents: [agent.id] })
  await server.run('watch-agents')
  await resume()
  expect(await status()).toBe('LOST')
  await drain()
  expect(await status()).toBe('LOST')
  await agent.register()
  expect(await status()).toBe('DRAINING')
})

it('is removed when it is drained and empty, and comes back when its program starts anew', async () => {
  const { server, agent, db } = given
  expect(await remove()).toMatchObject({ code: 'AGENT_IN_USE', message: /is ALIVE and has 0 kernels/ })
  await sessionIn(server, agent, 'RUNNING')
  await drain()
  expect(await remove()).toMatchObject({ code: 'AGENT_IN_USE', message: /is DRAINING and has 1 kernels/ })
  await failWith(server, agent, 0)
  expect(await remove()).toBe('nothing')
  expect(await status()).toBe('TERMINATED')
  expect(await remove()).toBe('nothing')
  await agent.sync()
  await passTime(db, 300, { silentAgents: [agent.id] })
  await server.run('watch-agents')
  expect(await status()).toBe('TERMINATED')
  await agent.register()
  expect(await status()).toBe('ALIVE')
})

it('a lost one is removed only when what ran there has stopped for certain', async () => {
  const { server, agent, db } = given
  await sessionIn(server, agent, 'RUNNING')
  await passTime(db, 60, { silentAgents: [agent.id] })
  await server.settle()
  expect(await status()).toBe('LOST')
  expect(await remove()).toMatchObject({ code: 'AGENT_IN_USE', message: /is LOST and has 1 kernels/ })
  await passTime(db, 100, { silentAgents: [agent.id] })
  expect(await remove()).toBe('nothing')
})

it('equal events in a row are one that counts up', async () => {
  const { server, sql, db } = given
  const agent = playedAgent(server.gateway, { slots: { cpu: '1' } })
  const restarts = 3
  for (let start = 0; start <= restarts; start++) {
    await agent.register()
    await sql('UPDATE agents SET instance_id = $2 WHERE id = $1', [agent.id, randomUUID()])
  }
  expect(await history(db, agent.id)).toEqual([
    'register-agent →ALIVE SUCCESS ×1',
    `register-agent ALIVE→ALIVE SUCCESS ×${restarts}`,
  ])
})

it('is for administrators, and an agent that nobody knows is not found', async () => {
  const { context } = given.server
  const member = { ...context, viewer: { ...context.viewer, role: 'MEMBER' as const } }
  for (const change of [drainAgent, resumeAgent, removeAgent]) {
    expect(await refusal(change(member, { agentId: given.agent.id }))).toMatchObject({ code: 'FORBIDDEN' })
    expect(await refusal(change(context, { agentId: randomUUID() }))).toMatchObject({ code: 'AGENT_NOT_FOUND' })
    expect(await refusal(change(context, { agentId: 'a', reason: '' }))).toMatchObject({
      issues: [{ path: 'agentId' }, { path: 'reason' }],
    })
  }
})
