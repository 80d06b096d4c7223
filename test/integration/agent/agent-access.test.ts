/** Rules for the kernels of an agent: isolation between users, draining, resuming and removal. */
import { randomUUID } from 'node:crypto'
import { v7 as uuidv7 } from 'uuid'
import { beforeEach, describe, expect, it, test } from 'vitest'
import type { Warning } from '../../../src/domain/warning.ts'
import { readWarnings } from '../../../src/program/runtime-parts.ts'
import { createProject } from '../../../src/services/access/tenants.ts'
import { createToken } from '../../../src/services/access/tokens.ts'
import { drainAgent, removeAgent, resumeAgent } from '../../../src/services/agent/agents.ts'
import { fakeAgent } from '../../support/agents/fake-agent.ts'
import { history, sessionRow } from '../../support/database/session-rows.ts'
import { failWith, sessionIn } from '../../support/sessions/drive-session.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'

const given = useScheduling()

describe('isolation between users', () => {
  async function register(
    isolation: { name: string; byHand: boolean } | undefined,
    agentId = uuidv7(),
    reported: Warning[] = [],
  ): Promise<string> {
    const request = {
      agentId,
      instanceId: uuidv7(),
      name: 'node-7',
      resourceGroup: 'default',
      address: 'node-7',
      version: 'test',
      slots: { cpu: '4' },
      labels: {},
      warnings: reported,
      ...(isolation !== undefined && { isolation }),
    }
    await given.server.gateway.register(request, new AbortController().signal)
    return agentId
  }

  const warnings = async () => (await readWarnings(given.db, [])).join('\n')
  const project = () => createProject(given.server.context, { name: `project-${uuidv7()}` })
  const member = () => createToken(given.server.context, { name: 'member', role: 'MEMBER', project: 'default' })

  describe('an agent without isolation that nobody has configured so', () => {
    beforeEach(async () => void (await register({ name: 'none', byHand: false })))

    test.each([
      ['a second project', project],
      ['a token of a member', member],
    ])('%s is refused with the variable and the agent named', async (_, create) => {
      await expect(create()).rejects.toMatchObject({
        code: 'ISOLATION_REQUIRED',
        message: expect.stringMatching(/node-7.*REPRISE_ISOLATION=none/s),
      })
    })

    test('administrators are let in, and nobody is warned of them', async () => {
      await createToken(given.server.context, { name: 'ops', role: 'ADMIN' })
      expect(await warnings()).not.toContain('REPRISE_ISOLATION')
    })
  })

  test.each([
    ['one on which it was configured by hand', { name: 'none', byHand: true }],
    ['one with isolation', { name: 'namespaces+user', byHand: false }],
    ['one that does not tell', undefined],
  ])('%s keeps nobody out', async (_, isolation) => {
    await register(isolation)
    await project()
    await member()
  })

  test('only the present isolation of an agent counts', async () => {
    const agentId = await register({ name: 'none', byHand: false })
    await register({ name: 'user', byHand: false }, agentId)
    await member()
  })

  test('with a member and no isolation, the server logs a warning, even where that was configured', async () => {
    await member()
    await register({ name: 'user', byHand: false })
    expect(await warnings()).not.toContain('REPRISE_ISOLATION')
    await register({ name: 'none', byHand: true })
    expect(await warnings()).toContain('REPRISE_ISOLATION')
  })

  test('warns of what agents report; an open registry is warned of only with a second project', async () => {
    // This gateway registers the agents of servers, whose own warnings these have already.
    const ofRemote = async () => {
      await given.db.query('UPDATE agents SET embedded = false')
      return warnings()
    }
    const limits: Warning = { kind: 'limits', text: 'memory is not bounded' }
    const registries: Warning = { kind: 'registries', text: 'any registry is allowed' }
    const agentId = await register(undefined, uuidv7(), [limits, registries])
    await register(undefined, uuidv7(), [registries, limits])
    await register(undefined)
    expect(await ofRemote()).toContain('2 agents report: memory is not bounded')
    expect(await ofRemote()).not.toContain('any registry')
    await project()
    expect(await ofRemote()).toContain('2 agents report: any registry is allowed')
    await register(undefined, agentId)
    expect(await ofRemote()).toContain('an agent reports: any registry is allowed')
    await given.db.query(`UPDATE agents SET status = 'LOST'`)
    expect(await ofRemote()).not.toContain('report')
  })

  test('an agent cannot make the warnings long', async () => {
    const many = Array.from({ length: 21 }, (_, index): Warning => ({ kind: 'limits', text: `warning ${index}` }))
    await expect(register(undefined, uuidv7(), many)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' })
    const long: Warning = { kind: 'limits', text: 'x'.repeat(501) }
    await expect(register(undefined, uuidv7(), [long])).rejects.toMatchObject({ code: 'VALIDATION_FAILED' })
  })

  describe('an agent that comes back with a weaker isolation', () => {
    const refusalOf = async (agentId: string) =>
      (
        await given.db.query<{ isolation: string; refuses: string | null }>(
          'SELECT isolation, refuses FROM agents WHERE id = $1',
          [agentId],
        )
      ).rows[0]

    test('gets no kernels, and the reason names the setting that allows it', async () => {
      const agentId = await register({ name: 'namespaces+user', byHand: false })
      await register({ name: 'none', byHand: false }, agentId)
      expect(await refusalOf(agentId)).toEqual({
        isolation: 'namespaces+user',
        refuses: expect.stringMatching(
          /by namespaces\+user before, and now by none; REPRISE_ISOLATION=none accepts that/,
        ),
      })
      const kernelsThere = async () =>
        (await given.db.query('SELECT FROM kernels WHERE agent_id = $1', [agentId])).rowCount
      for (let each = 0; each < 20; each++) await given.server.create({ command: ['true'] })
      await given.server.run('schedule-sessions')
      expect(await kernelsThere()).toBe(0)
      await register({ name: 'namespaces+user', byHand: false }, agentId)
      expect(await refusalOf(agentId)).toEqual({ isolation: 'namespaces+user', refuses: null })
    })

    test('gets them where the configuration allows it', async () => {
      const agentId = await register({ name: 'namespaces', byHand: false })
      await register({ name: 'none', byHand: true }, agentId)
      expect(await refusalOf(agentId)).toEqual({ isolation: 'none', refuses: null })
    })
  })
})

describe('draining, resuming and removing agents', () => {
  const refusal = (work: Promise<unknown>) =>
    work.then(
      () => 'nothing',
      (error: unknown) => error,
    )
  const drain = (reason?: string) => drainAgent(given.server.context, { agentId: given.agent.id, reason })
  const resume = () => resumeAgent(given.server.context, { agentId: given.agent.id })
  const remove = () => refusal(removeAgent(given.server.context, { agentId: given.agent.id }))
  const status = async () =>
    (await given.sql('SELECT status FROM agents WHERE id = $1', [given.agent.id]))[0]!['status']
  const lines = async () =>
    (
      await given.sql(
        `SELECT phase || ': ' || message AS line FROM scheduling_history WHERE entity_id = $1 ORDER BY id`,
        [given.agent.id],
      )
    ).map(({ line }) => line)

  it('a drained agent finishes its kernels, takes no new ones, and works again when it is resumed', async () => {
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
    await advanceClock(db, 5)
    await server.run('schedule-sessions')
    expect(await status()).toBe('ALIVE')
    expect((await sessionRow(db, next)).status).toBe('PREPARING')
    expect(await history(db, agent.id)).toEqual([
      'register-agent →ALIVE SUCCESS ×1',
      'drain-agent ALIVE→DRAINING SUCCESS ×1',
      'resume-agent DRAINING→ALIVE SUCCESS ×1',
    ])
    expect(await lines()).toEqual([
      'register-agent: registered',
      'drain-agent: a new disk (ada)',
      'resume-agent: by ada',
    ])
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
    await advanceClock(db, 20, { silentAgents: [agent.id] })
    await server.run('watch-agents')
    expect(await status()).toBe('DRAINING')
    await agent.register()
    expect(await status()).toBe('DRAINING')
    await advanceClock(db, 60, { silentAgents: [agent.id] })
    await server.run('watch-agents')
    expect(await status()).toBe('LOST')
    await agent.sync()
    expect(await status()).toBe('DRAINING')
    expect((await history(db, agent.id)).slice(-2)).toEqual([
      'watch-agents DRAINING→LOST EXPIRED ×1',
      'agent-sync LOST→DRAINING SUCCESS ×1',
    ])
  })

  it('one that is drained while it is suspected or lost is still drained when it returns', async () => {
    const { server, agent, db } = given
    await advanceClock(db, 20, { silentAgents: [agent.id] })
    await server.run('watch-agents')
    expect(await status()).toBe('SUSPECT')
    await drain()
    expect(await status()).toBe('DRAINING')
    await advanceClock(db, 60, { silentAgents: [agent.id] })
    await server.run('watch-agents')
    await resume()
    expect(await status()).toBe('LOST')
    await drain()
    expect(await status()).toBe('LOST')
    await agent.register()
    expect(await status()).toBe('DRAINING')
  })

  it('is removed when it is drained and empty, and returns when its program is started again', async () => {
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
    await advanceClock(db, 300, { silentAgents: [agent.id] })
    await server.run('watch-agents')
    expect(await status()).toBe('TERMINATED')
    await agent.register()
    expect(await status()).toBe('ALIVE')
  })

  it('a lost one is removed only once its kernels have certainly stopped', async () => {
    const { server, agent, db } = given
    await sessionIn(server, agent, 'RUNNING')
    await advanceClock(db, 60, { silentAgents: [agent.id] })
    await server.settle()
    expect(await status()).toBe('LOST')
    expect(await remove()).toMatchObject({ code: 'AGENT_IN_USE', message: /is LOST and has 1 kernels/ })
    await advanceClock(db, 100, { silentAgents: [agent.id] })
    expect(await remove()).toBe('nothing')
  })

  it('equal events in a row are one that counts up', async () => {
    const { server, sql, db } = given
    const agent = fakeAgent(server.gateway, { slots: { cpu: '1' } })
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
})
