/** Queries from agents and resource groups to their sessions and back: visibility, pages and cost. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { analysedPlanOf, readWhole, rowsRead } from '../../support/database/plans.ts'
import { recordQueries, recordStatements } from '../../support/database/record-statements.ts'
import { driveAll, failWith } from '../../support/sessions/drive-session.ts'
import { fakeAgent } from '../../support/agents/fake-agent.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { testServer } from '../../support/servers/test-server.ts'

let server: TestServer
let project: string
let member: string

beforeAll(async () => {
  server = await startGraphQLServer()
  project = await server.factory.project('ours')
  member = await server.factory.token({ role: 'MEMBER', projectId: project })
})
afterAll(() => server?.close())

async function ask(text: string, variables: object = {}, token: string | null = server.adminToken): Promise<any> {
  const { data, errors } = await server.query(text, variables, token)
  expect(errors).toBeUndefined()
  return data
}

const namesOf = (connection: { edges: { node: { name: string } }[] }) => connection.edges.map(({ node }) => node.name)

describe('an agent', () => {
  const WORK = `{ edges { node { name agentId
    kernels(first: 50) { totalCount edges { node { kernelId role status session { name kernels { role } } agent { name } } } }
    sessions(first: 50) { totalCount edges { node { sessionId name status } } } } } }`

  test('shows its present sessions, of the projects of the token', async () => {
    const ours = await server.factory.session({ projectId: project, name: 'ours', status: 'RUNNING', clusterSize: 2 })
    const theirs = await server.factory.session({ name: 'theirs', status: 'RUNNING' })
    const ended = await server.factory.session({ projectId: project, name: 'ended', status: 'TERMINATED' })

    const { agents } = await ask(`{ agents ${WORK} }`)
    const [{ node: agent }] = agents.edges
    expect(namesOf(agent.sessions)).toEqual(['theirs', 'ours'])
    expect(agent.sessions.totalCount).toBe(2)
    expect(agent.kernels.totalCount).toBe(3)
    const kernels = agent.kernels.edges.map(({ node }: any) => node)
    expect(new Set(kernels.map(({ kernelId }: any) => kernelId))).toEqual(
      new Set([...ours.kernelIds, ...theirs.kernelIds]),
    )
    for (const kernel of kernels) expect(kernel).toMatchObject({ status: 'RUNNING', agent: { name: agent.name } })

    const seen = (await ask(`{ agents ${WORK} }`, {}, member)).agents.edges[0].node
    expect(namesOf(seen.sessions)).toEqual(['ours'])
    expect(seen.sessions.totalCount).toBe(1)
    expect(seen.kernels).toMatchObject({ totalCount: 2, edges: [{ node: { session: { name: 'ours' } } }, {}] })

    const by = `query ($agent: UUID!) { sessions(filter: { agent: $agent }) { totalCount edges { node { name } } } }`
    const { sessions } = await ask(by, { agent: agent.agentId }, member)
    expect(namesOf(sessions)).toEqual(['ended', 'ours'])
    const elsewhere = await server.factory.agent('idle')
    expect((await ask(by, { agent: elsewhere })).sessions.totalCount).toBe(0)
    const kernel = `query ($id: ID!) { node(id: $id) { ... on Kernel { session { sessionId } } } }`
    const id = Buffer.from(`Kernel:${ended.kernelIds[0]}`).toString('base64')
    expect((await ask(kernel, { id }, member)).node).toEqual({ session: { sessionId: ended.id } })
  })

  test('is read page by page', async () => {
    const { agents } = await ask(`{ agents ${WORK} }`)
    const { agentId, kernels } = agents.edges[0].node
    const id = Buffer.from(`Agent:${agentId}`).toString('base64')
    for (const [field, all] of [
      ['kernels', kernels.edges.map(({ node }: any) => node.kernelId)],
      ['sessions', agents.edges[0].node.sessions.edges.map(({ node }: any) => node.sessionId)],
    ] as const) {
      const own = field === 'kernels' ? 'kernelId' : 'sessionId'
      const seen: string[] = []
      let after: string | null = null
      do {
        const { node } = await ask(
          `query ($id: ID!, $after: String) { node(id: $id) { ... on Agent { page: ${field}(first: 1, after: $after) {
            pageInfo { hasNextPage endCursor } edges { node { ${own} } } } } } }`,
          { id, after },
        )
        seen.push(...node.page.edges.map(({ node: each }: any) => each[own]))
        after = node.page.pageInfo.hasNextPage ? node.page.pageInfo.endCursor : null
      } while (after !== null)
      expect(seen).toEqual(all)
    }
    const { errors } = await server.query(
      'query ($id: ID!) { node(id: $id) { ... on Agent { kernels(after: "bent") { totalCount } } } }',
      { id },
    )
    expect(errors).toMatchObject([{ extensions: { code: 'VALIDATION_FAILED' } }])
  })

  test('costs as many statements as forty', async () => {
    const agents = await Promise.all(Array.from({ length: 40 }, (_, n) => server.factory.agent(`busy-${n}`)))
    for (const agentId of agents) {
      const { kernelIds } = await server.factory.session({ name: 'busy', status: 'RUNNING', clusterSize: 2 })
      await server.db.query('UPDATE kernels SET agent_id = $1 WHERE id = ANY($2)', [agentId, kernelIds])
    }
    const page = async (first: number) => {
      const { result, statements } = await recordStatements(() =>
        server.query(`{ agents(first: ${first}) ${WORK}
          resourceGroups { name pendingSessions(first: 5) { totalCount edges { node { name durations { queued } } } }
            agents(first: ${first}) { totalCount edges { node { name slots { slot } kernels(first: 2) { edges { node { role } } } } } } } }`),
      )
      expect(result.errors).toBeUndefined()
      expect(result.data.agents.edges).toHaveLength(first)
      return statements.filter((sql) => !/session_events|api_tokens/.test(sql))
    }
    const one = await page(1)
    const forty = await page(40)
    expect(forty.length, forty.join('\n')).toBe(one.length)
  })
})

describe('a resource group', () => {
  const GROUPS = `query ($first: Int, $after: String) { resourceGroups { name
    agents(first: $first, after: $after) { totalCount pageInfo { hasNextPage endCursor } edges { node { name agentId } } } } }`

  test('shows its agents by name, also two of the same name', async () => {
    for (let n = 0; n < 3; n++) await server.factory.agent('twin')
    const whole = (await ask(GROUPS, { first: 100 })).resourceGroups[0].agents
    expect(whole.edges).toHaveLength(whole.totalCount)
    expect(namesOf(whole).filter((name) => name === 'twin')).toHaveLength(3)
    const seen: string[] = []
    let after: string | null = null
    do {
      const page: any = (await ask(GROUPS, { first: 7, after })).resourceGroups[0].agents
      seen.push(...page.edges.map(({ node }: any) => node.agentId))
      after = page.pageInfo.hasNextPage ? page.pageInfo.endCursor : null
    } while (after !== null)
    expect(seen).toEqual(whole.edges.map(({ node }: any) => node.agentId))
  })

  test('shows pending sessions in the order of the queue, of the projects of the token', async () => {
    for (const [name, priority] of [
      ['later', 10],
      ['urgent', 90],
      ['last', 1],
      ['resting', 50],
    ] as const)
      await server.factory.session({ projectId: project, name, priority, status: 'PENDING' })
    await server.factory.session({ name: 'theirs', priority: 60, status: 'PENDING' })
    await server.db.query(`UPDATE sessions SET next_try_at = now() + interval '1 hour' WHERE name = 'resting'`)
    const text = `query ($first: Int, $after: String) { resourceGroups { pendingSessions(first: $first, after: $after) {
      totalCount totalCountIsExact pageInfo { hasNextPage endCursor } edges { node { name } } } } }`
    const whole = (await ask(text, {})).resourceGroups[0].pendingSessions
    expect(namesOf(whole)).toEqual(['urgent', 'theirs', 'resting', 'later', 'last'])
    expect(whole).toMatchObject({ totalCount: 5, totalCountIsExact: true })
    const ours: string[] = []
    let after: string | null = null
    do {
      const page: any = (await ask(text, { first: 1, after }, member)).resourceGroups[0].pendingSessions
      expect(page.totalCount).toBe(4)
      ours.push(...namesOf(page))
      after = page.pageInfo.hasNextPage ? page.pageInfo.endCursor : null
    } while (after !== null)
    expect(ours).toEqual(['urgent', 'resting', 'later', 'last'])
    const by = '{ sessions(filter: { resourceGroup: "default", status: [PENDING] }) { totalCount } }'
    expect((await ask(by)).sessions.totalCount).toBe(5)
    const none = '{ sessions(filter: { resourceGroup: "elsewhere" }) { totalCount } }'
    expect((await ask(none)).sessions.totalCount).toBe(0)
  })

  test('reads only the requested page of ended sessions', async () => {
    const agentId = await server.factory.agent('old')
    await server.db.query(
      `INSERT INTO kernels (id, session_id, role, index, status, resource_slots, agent_id, terminated_at)
       SELECT gen_random_uuid(), (SELECT id FROM sessions WHERE name = 'ended'), 'sub', n, 'TERMINATED', '{}', $1, now()
       FROM generate_series(2, 20000) AS n`,
      [agentId],
    )
    await server.db.query('VACUUM ANALYZE kernels, sessions')
    const id = Buffer.from(`Agent:${agentId}`).toString('base64')
    const { queries } = await recordQueries(() =>
      ask(
        `query ($id: ID!) { node(id: $id) { ... on Agent { kernels { totalCount edges { node { role } } }
          sessions { totalCount edges { node { name } } } } } }`,
        { id },
      ),
    )
    const asked = queries.filter(({ text }) => /\bkernels\b/.test(text))
    expect(asked.length).toBeGreaterThanOrEqual(3)
    for (const { text, values } of asked) {
      const nodes = await analysedPlanOf(server.db, { text, values })
      expect([text, readWhole(nodes)]).toEqual([text, []])
      expect(rowsRead(nodes)).toBeLessThan(1_000)
    }
    const few = await recordQueries(async () => {
      const { agents } = await ask(`{ agents(first: 100) { edges { node { name agentId } } } }`)
      const { agentId: busy } = agents.edges.find(({ node }: any) => node.name === 'busy-0').node
      const text = `query ($busy: UUID!) { sessions(filter: { agent: $busy }) { totalCount } }`
      const { sessions } = await ask(text, { busy })
      expect(sessions.totalCount).toBe(1)
    })
    const counted = few.queries.find(({ text }) => /\bkernels\b/.test(text))
    const nodes = await analysedPlanOf(server.db, counted!)
    expect(readWhole(nodes)).not.toContain('kernels')
    expect(nodes.map((node) => node['Index Name'])).toContain('kernels_by_agent')
  })
})

test('a session shows who created and ended it, its dependents, and its time in each status', async () => {
  const { db } = server
  const scheduler = testServer(db)
  await db.query(`DELETE FROM sessions WHERE status = 'PENDING'`)
  const agent = fakeAgent(scheduler.gateway, { slots: { cpu: '64' }, resourceGroup: 'default' })
  await agent.register()
  const id = await scheduler.create({ name: 'first', allowAgents: [agent.id] })
  const dependents = [
    await scheduler.create({ name: 'second', dependsOn: [id] }),
    await scheduler.create({ name: 'third', dependsOn: [id] }),
  ]
  await driveAll(scheduler, agent, 'RUNNING')
  const text = `query ($id: UUID!) { session(id: $id) { createdBy user terminatedBy dependsOn { name } dependents { sessionId name }
    durations { queued preparing running ending } createdAt startedAt terminatedAt } }`
  const running = (await ask(text, { id })).session
  expect(running).toMatchObject({ createdBy: 'ada', user: null, terminatedBy: null, dependsOn: [] })
  expect(running.dependents.map(({ sessionId }: any) => sessionId)).toEqual(dependents)
  expect((await ask(text, { id: dependents[0]! })).session).toMatchObject({ dependsOn: [{ name: 'first' }] })
  const waiting = `query ($id: UUID!) { sessions(filter: { dependsOn: $id }) { edges { node { name } } } }`
  expect(namesOf((await ask(waiting, { id })).sessions)).toEqual(['third', 'second'])
  expect((await server.query(text, { id }, member)).data.session).toBeNull()

  // It was queued 40 s, was prepared 10 s and ran 20 s.
  await db.query(
    `WITH session AS (
      UPDATE sessions SET created_at = now() - interval '70 s', started_at = now() - interval '20 s' WHERE id = $1)
    UPDATE scheduling_history SET first_at = now() - interval '30 s' WHERE entity_id = $1 AND to_status <> 'RUNNING'`,
    [id],
  )
  await failWith(scheduler, agent, 3)
  const { session } = await ask(text, { id })
  const { queued, preparing, running: ran, ending } = session.durations
  expect([queued, preparing].map(Math.round)).toEqual([40, 10])
  expect(ran).toBeGreaterThanOrEqual(20)
  const age = (Date.parse(session.terminatedAt) - Date.parse(session.createdAt)) / 1_000
  expect(queued + preparing + ran + ending).toBeCloseTo(age, 6)
})

test('a session shows its owner, and who terminated it', async () => {
  const { db } = server
  const { rows } = await db.query<{ id: string }>(
    `INSERT INTO users (id, name) VALUES (gen_random_uuid(), 'grace') RETURNING id`,
  )
  const { id } = await server.factory.session({ name: 'owned', status: 'RUNNING' })
  await db.query('UPDATE sessions SET user_id = $2 WHERE id = $1', [id, rows[0]!.id])
  await ask('mutation ($id: UUID!) { terminateSession(input: { sessionId: $id }) { __typename } }', { id })
  const { session } = await ask('query ($id: UUID!) { session(id: $id) { user terminatedBy } }', { id })
  expect(session).toEqual({ user: 'grace', terminatedBy: 'ADMIN-token' })
})
