/** Agents and resource groups that retries exclude or avoid. */
import { beforeEach, describe, expect, it } from 'vitest'
import { type FakeAgent, fakeAgent } from '../../support/agents/fake-agent.ts'
import { chainRows, kernelRows } from '../../support/database/session-rows.ts'
import { useFakeAgentApi } from '../../support/servers/fake-agent-api.ts'
import { driveAll, failWith, sessionIn } from '../../support/sessions/drive-session.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'

describe('excluded agents', () => {
  const given = useFakeAgentApi()
  let large: FakeAgent
  let small: FakeAgent

  beforeEach(async () => {
    // An idle session goes to the large one, unless something speaks against it.
    large = await registered('64')
    small = await registered('2')
  })

  const registered = (cpu: string) => given.registered({ slots: { cpu } })

  async function rest(method: string, path: string, body?: object): Promise<{ status: number; body: any }> {
    const response = await fetch(`${given.api.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${given.api.adminToken}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: await response.json() }
  }

  async function create(input: object): Promise<string> {
    const { data } = await given.api.query(
      `mutation ($input: CreateSessionInput!) { createSession(input: $input) {
      ... on CreateSessionPayload { session { sessionId excludeAgents } } ... on Error { message } } }`,
      { input: { name: 'work', command: ['true'], resourceSlots: [{ slot: 'cpu', amount: '1' }], ...input } },
      given.api.adminToken,
    )
    return data.createSession.session.sessionId
  }

  async function ask(id: string): Promise<{ pendingReason: string | null; excludeAgents: string[] }> {
    const { data, errors } = await given.api.query(
      'query ($id: UUID!) { session(id: $id) { pendingReason excludeAgents } }',
      { id },
      given.api.adminToken,
    )
    expect(errors).toBeUndefined()
    return data.session
  }

  /** Fails the chain's newest attempt on whichever agent it is, and dispatches its retry. */
  async function failOnce(chainId: string): Promise<{ agentId: string; childId: string }> {
    const attempt = (await chainRows(given.api.db, chainId)).at(-1)!
    await given.server.run('schedule-sessions')
    const agentId = (await kernelRows(given.api.db, attempt.id))[0]!.agent!
    const agent = agentId === large.id ? large : small
    await driveAll(given.server, agent, 'RUNNING')
    await failWith(given.server, agent, 3)
    await advanceClock(given.api.db, 5)
    await given.server.run('dispatch-retries')
    return { agentId, childId: (await chainRows(given.api.db, chainId)).at(-1)!.id }
  }

  const RULE = { match: {}, action: 'RETRY' }
  const NONE_LEFT = 'it excludes every agent of resource group default that it may go to and that is alive'

  describe('a session that excludes agents', () => {
    it('runs on another, and waits with a reason while there is none', async () => {
      const id = await create({ excludeAgents: [large.id] })
      const stuck = await create({ excludeAgents: [large.id, small.id] })
      await given.server.run('schedule-sessions')
      expect((await kernelRows(given.api.db, id))[0]!.agent).toBe(small.id)
      expect(await ask(stuck)).toEqual({ pendingReason: NONE_LEFT, excludeAgents: [large.id, small.id] })

      const third = await registered('1')
      await given.server.run('schedule-sessions')
      expect((await kernelRows(given.api.db, stuck))[0]!.agent).toBe(third.id)
    })

    it('is the same over REST', async () => {
      const { status, body } = await rest('POST', '/v2/sessions', {
        name: 'work',
        command: ['true'],
        exclude_agents: [large.id, small.id],
        retry_policy: { max_retries: 1, rules: [{ match: {}, action: 'RETRY', exclude: 'AGENT' }] },
      })
      expect({ status, lists: [body.exclude_agents, body.avoid_agents, body.allow_agents] }).toEqual({
        status: 201,
        lists: [[large.id, small.id], [], []],
      })
      expect(body.agent_labels).toEqual([])
      expect(body.retry_policy.rules).toEqual([{ match: {}, action: 'RETRY', exclude: 'AGENT' }])
      await given.server.run('schedule-sessions')
      expect((await rest('GET', `/v2/sessions/${body.id}`)).body).toMatchObject({
        status: 'PENDING',
        pending_reason: NONE_LEFT,
      })
      const agentLabels = [{ key: 'zone', value: 'x' }]
      const labelled = await rest('POST', '/v2/sessions', {
        name: 'work',
        command: ['true'],
        agent_labels: agentLabels,
      })
      expect(labelled).toMatchObject({ status: 201, body: { agent_labels: agentLabels } })
    })

    it('does not stop those behind it that exclude nothing', async () => {
      await create({ excludeAgents: [large.id, small.id] })
      const other = await create({})
      await given.server.run('schedule-sessions')
      expect((await kernelRows(given.api.db, other))[0]!.agent).toBe(large.id)
    })
  })

  describe('a rule', () => {
    it('that excludes: the retry waits rather than go back, even if that is all there is', async () => {
      const retryPolicy = { maxRetries: 5, retryDelay: 1, rules: [{ ...RULE, exclude: 'AGENT' }] }
      const id = await create({ retryPolicy })
      const first = await failOnce(id)
      const second = await failOnce(id)
      expect([first.agentId, second.agentId]).toEqual([large.id, small.id])
      const { rows } = await given.api.db.query<{ name: string; explanation: string }>(
        `SELECT a.name, d.explanation FROM retry_decisions d JOIN kernels k ON k.session_id = d.session_id
         JOIN agents a ON a.id = k.agent_id WHERE d.chain_id = $1`,
        [id],
      )
      for (const { name, explanation } of rows) expect(explanation).toContain(`; excludes agent ${name}; waits`)
      await given.server.run('schedule-sessions')
      expect(await ask(second.childId)).toEqual({ pendingReason: NONE_LEFT, excludeAgents: [large.id, small.id] })
    })

    it('that avoids: never the agent that failed last while another fits, even when all have failed', async () => {
      const retryPolicy = { maxRetries: 5, retryDelay: 1, rules: [{ ...RULE, avoid: 'AGENT' }] }
      const id = await create({ retryPolicy })
      const agents: string[] = []
      for (let attempt = 1; attempt <= 5; attempt++) agents.push((await failOnce(id)).agentId)
      expect(agents).toEqual([large.id, small.id, large.id, small.id, large.id])
      const { rows } = await given.api.db.query<{ explanation: string }>('SELECT explanation FROM retry_decisions')
      for (const { explanation } of rows) expect(explanation).toMatch(/; avoids agent [\w-]+; waits/)
    })

    it('that avoids goes back where nothing else is left', async () => {
      await given.api.db.query(`UPDATE agents SET status = 'SUSPECT' WHERE id = $1`, [small.id])
      const id = await create({ retryPolicy: { maxRetries: 5, retryDelay: 1, rules: [{ ...RULE, avoid: 'AGENT' }] } })
      expect([(await failOnce(id)).agentId, (await failOnce(id)).agentId]).toEqual([large.id, large.id])
    })
  })

  describe('a resubmission', () => {
    const RESUBMIT = `mutation ($input: ResubmitSessionsInput!) { resubmitSessions(input: $input) {
    ... on ResubmitSessionsPayload { sessions { sessionId excludeAgents } }
    ... on ValidationError { issues { path message } } } }`

    it('may exclude agents, or let those in again that rules have excluded', async () => {
      const id = await create({ retryPolicy: { maxRetries: 1, retryDelay: 1, rules: [{ ...RULE, exclude: 'AGENT' }] } })
      await failOnce(id)
      await failOnce(id)
      const [, last] = await chainRows(given.api.db, id)
      const overrides = { excludeAgents: [small.id] }
      const { data } = await given.api.query(
        RESUBMIT,
        { input: { sessionIds: [last!.id], overrides } },
        given.api.adminToken,
      )
      const [made] = data.resubmitSessions.sessions
      expect(made.excludeAgents).toEqual([small.id])
      await given.server.run('schedule-sessions')
      expect((await kernelRows(given.api.db, made.sessionId))[0]!.agent).toBe(large.id)
    })

    it('may not name an agent that does not exist, nor one that it allows', async () => {
      const id = await create({})
      const unknown = '01990000-0000-7000-8000-00000000000a'
      for (const [overrides, path] of [
        [{ excludeAgents: [unknown] }, 'overrides.excludeAgents.0'],
        [{ excludeAgents: [small.id], allowAgents: [small.id] }, 'overrides.excludeAgents.0'],
      ] as const) {
        const { data } = await given.api.query(
          RESUBMIT,
          { input: { sessionIds: [id], overrides } },
          given.api.adminToken,
        )
        expect(data.resubmitSessions.issues.map((issue: { path: string }) => issue.path)).toContain(path)
      }
    })
  })
})

describe('avoided resource groups', () => {
  const given = useScheduling()
  const ELSEWHERE = {
    maxRetries: 3,
    retryDelay: 1,
    rules: [{ match: {}, action: 'RETRY', avoid: 'RESOURCE_GROUP' }],
  } as const

  beforeEach(() => given.sql(`INSERT INTO resource_groups (name) VALUES ('b'), ('a')`))

  async function agentIn(resourceGroup: string, cpu = '4') {
    const agent = fakeAgent(given.server.gateway, { resourceGroup, slots: { cpu } })
    await agent.register()
    return agent
  }

  /** The groups of the chain's attempts, after the first has failed and its retry was dispatched. */
  async function groupsAfterFailure(input: object = {}): Promise<unknown[]> {
    const { server, agent, db } = given
    const id = await sessionIn(server, agent, 'RUNNING', { retryPolicy: ELSEWHERE, ...input })
    await failWith(server, agent, 1)
    await advanceClock(db, 5)
    await server.run('dispatch-retries')
    return given.sql(
      'SELECT resource_group AS group, avoid_groups AS avoids FROM sessions WHERE chain_id = $1 ORDER BY attempt',
      [id],
    )
  }

  const explanation = async () =>
    (await given.sql('SELECT explanation FROM retry_decisions ORDER BY decided_at LIMIT 1'))[0]!['explanation']

  it('the child goes to another group that has an agent', async () => {
    await agentIn('b')
    expect(await groupsAfterFailure()).toEqual([
      { group: 'default', avoids: [] },
      { group: 'b', avoids: ['default'] },
    ])
    const said = await given.sql(
      `SELECT data ->> 'reason' AS reason FROM session_events WHERE type = 'session.retry_dispatched'`,
    )
    expect(said).toEqual([{ reason: 'retried as attempt 2 of 4 in resource group b' }])
    expect(await explanation()).toMatch(
      /^retry 1 of 3: .*; avoids resource group default; waits .*; moves to resource group b$/,
    )
  })

  it('stays where no other group has an agent', async () => {
    expect(await groupsAfterFailure()).toEqual([
      { group: 'default', avoids: [] },
      { group: 'default', avoids: ['default'] },
    ])
    expect(await explanation()).toMatch(/; stays in resource group default, because no other could run it$/)
  })

  it('an agent that is not alive, or could never take it, is none', async () => {
    await agentIn('a', '0.5')
    const silent = await agentIn('b')
    await given.sql(`UPDATE agents SET status = 'SUSPECT' WHERE id = $1`, [silent.id])
    expect((await groupsAfterFailure())[1]).toMatchObject({ group: 'default' })
  })

  it('when all have failed it goes where it has not been for the longest, never where it failed last', async () => {
    const { server, db } = given
    const others = { a: await agentIn('a'), b: await agentIn('b') }
    await groupsAfterFailure({ retryPolicy: { ...ELSEWHERE, maxRetries: 5 } })
    for (const agent of [others.a, others.b, given.agent, others.a]) {
      await server.run('schedule-sessions')
      await agent.comply()
      await server.run('promote-to-prepared')
      await agent.comply()
      await server.run('promote-to-running')
      await failWith(server, agent, 1)
      await advanceClock(db, 5)
      await server.run('dispatch-retries')
    }
    expect(
      await given.sql('SELECT resource_group AS group, avoid_groups AS avoids FROM sessions ORDER BY attempt'),
    ).toEqual([
      { group: 'default', avoids: [] },
      { group: 'a', avoids: ['default'] },
      { group: 'b', avoids: ['default', 'a'] },
      { group: 'default', avoids: ['default', 'a', 'b'] },
      { group: 'a', avoids: ['a', 'b', 'default'] },
      { group: 'b', avoids: ['b', 'default', 'a'] },
    ])
  })
})
