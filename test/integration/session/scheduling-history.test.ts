/** Pages of scheduling history of sessions, kernels and agents. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { insertRows } from '../../support/database/insert-rows.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { recordStatements } from '../../support/database/record-statements.ts'
import { DEFAULT_PROJECT_ID } from '../../support/servers/test-server.ts'

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())

async function remember(entity: 'AGENT' | 'KERNEL' | 'SESSION', id: string, count: number): Promise<void> {
  const rows = Array.from({ length: count }, (_, n) => ({
    entity,
    entity_id: id,
    phase: `phase-${n}`,
    result: 'SUCCESS',
    message: 'so it was',
    attempts: n + 1,
  }))
  await insertRows(server.db, 'scheduling_history', rows)
}

const PAGE = `totalCount pageInfo { hasNextPage endCursor } edges { node { phase attempts result message fromStatus } }`

test("an agent's and a kernel's are read page by page, oldest first, as a session's are", async () => {
  const { id: sessionId, kernelIds } = await server.factory.session({ status: 'RUNNING' })
  const agentId = await server.factory.agent('historian')
  await remember('AGENT', agentId, 5)
  await remember('KERNEL', kernelIds[0]!, 5)
  await remember('SESSION', sessionId, 5)
  const read = async (after: string | null) => {
    const { data } = await server.query(
      `query ($sessionId: UUID!, $after: String) {
        agents { edges { node { name schedulingHistory(first: 3, after: $after) { ${PAGE} } } } }
        session(id: $sessionId) { schedulingHistory(first: 3, after: $after) { ${PAGE} }
          kernels { schedulingHistory(first: 3, after: $after) { ${PAGE} } } } }`,
      { sessionId, after },
    )
    const agent = data.agents.edges.find((edge: { node: { name: string } }) => edge.node.name === 'historian').node
    return [agent, data.session.kernels[0], data.session].map(({ schedulingHistory }) => schedulingHistory)
  }
  for (const first of await read(null)) {
    expect(first.edges.map(({ node }: { node: { phase: string } }) => node.phase)).toEqual([
      'phase-0',
      'phase-1',
      'phase-2',
    ])
    expect(first).toMatchObject({ totalCount: 5, pageInfo: { hasNextPage: true } })
    expect(first.edges[2].node).toEqual({
      phase: 'phase-2',
      attempts: 3,
      result: 'SUCCESS',
      message: 'so it was',
      fromStatus: null,
    })
  }
  const [agentPage] = await read(null)
  const [rest] = await read(agentPage.pageInfo.endCursor)
  expect(rest.edges.map(({ node }: { node: { phase: string } }) => node.phase)).toEqual(['phase-3', 'phase-4'])
  expect(rest.pageInfo.hasNextPage).toBe(false)
})

test("a kernel's is not for another tenant", async () => {
  const foreign = await server.factory.session({ status: 'RUNNING', projectId: await server.factory.project() })
  await remember('KERNEL', foreign.kernelIds[0]!, 1)
  const { data } = await server.query(`{ sessions { edges { node { kernels { id kernelId } } } } }`)
  const kernels: { id: string; kernelId: string }[] = data.sessions.edges.flatMap(
    ({ node }: { node: { kernels: object[] } }) => node.kernels,
  )
  const { id } = kernels.find(({ kernelId }) => kernelId === foreign.kernelIds[0])!
  const read = `query ($id: ID!) { node(id: $id) { ... on Kernel { schedulingHistory { totalCount } } } }`
  const member = await server.factory.token({ role: 'MEMBER', projectId: DEFAULT_PROJECT_ID })
  expect((await server.query(read, { id })).data.node).toEqual({ schedulingHistory: { totalCount: 1 } })
  expect((await server.query(read, { id }, member)).data.node).toBeNull()
})

test.each([
  ['agents', `schedulingHistory(first: 2) { ${PAGE} }`],
  ['sessions', `kernels { schedulingHistory(first: 2) { ${PAGE} } }`],
])('on a page of %s takes as many statements as on one of them', async (list, fields) => {
  const read = async (first: number) => {
    const query = `{ ${list}(first: ${first}) { edges { node { ${fields} } } } }`
    const { result, statements } = await recordStatements(() => server.query(query))
    return { result, statements: statements.filter((sql) => !/session_events|api_tokens/.test(sql)) }
  }
  const one = await read(1)
  for (let n = 0; n < 20; n++) {
    await remember('AGENT', await server.factory.agent(), 3)
    const { kernelIds } = await server.factory.session({ status: 'RUNNING', clusterSize: 2 })
    await remember('KERNEL', kernelIds[1]!, 3)
  }
  const many = await read(20)
  expect(many.result.data[list].edges).toHaveLength(20)
  expect(JSON.stringify(many.result.data).match(/phase-1/g)!.length).toBeGreaterThan(15)
  expect(many.statements).toHaveLength(one.statements.length)
})
