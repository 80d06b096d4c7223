/** The number of statements that pages of sessions cost. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { recordStatements } from '../../support/database/record-statements.ts'

const CHAIN_LENGTH = 10
let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
  for (let n = 0; n < 50; n++)
    await server.factory.chain(CHAIN_LENGTH, { name: `tail-${n}`, status: 'ERROR', phase: 'EXHAUSTED' })
})
afterAll(() => server?.close())

const FIELDS = `
  id name status project { name domain } resourceGroup { name } environ { name } resourceSlots { slot amount }
  parentSession { sessionId status retryState { label phase } kernels { role } }
  childSession { sessionId retryDecision { explanation } }
  rootSession { sessionId kernels { status agent { name slots { slot capacity } } } }
  retryChain {
    sessionId attempt
    retryState { phase label childSession { sessionId status } }
    kernels { role index agent { name } logs(first: 2) { totalCount edges { node { text } } } }
    retryDecision { phase explanation childSession { name } session { name } }
    parentSession { attempt }
    rootSession { name }
    schedulingHistory(first: 3) { totalCount edges { node { phase } } }
  }
  retryState { phase label reason childSession { sessionId } }
  retryDecision { phase explanation }
  kernels { role status agent { name } }`

/** Statements of the request alone: the relay polls by itself, and tokens are looked up every few seconds. */
async function ask(text: string, variables: object) {
  const { result, statements } = await recordStatements(() => server.query(text, variables))
  expect(result.errors).toBeUndefined()
  return { data: result.data, statements: statements.filter((sql) => !/session_events|api_tokens/.test(sql)) }
}

/** From the second attempts on: they have a parent and a child, so that every edge leads somewhere for each row. */
async function page(first: number) {
  const after = await firstAttempts()
  const text = `query ($first: Int!, $after: String) {
    sessions(first: $first, after: $after, orderBy: [{ field: ATTEMPT, direction: ASC }, { field: NAME }]) {
      totalCount edges { node { ${FIELDS} } } } }`
  const { data, statements } = await ask(text, { first, after })
  const nodes = data.sessions.edges.map(({ node }: any) => node)
  expect(nodes).toHaveLength(first)
  for (const node of nodes) {
    expect(node).toMatchObject({ parentSession: { status: 'ERROR' }, retryDecision: { phase: 'DISPATCHED' } })
    expect(node.childSession).not.toBeNull()
    expect(node.retryChain).toHaveLength(CHAIN_LENGTH)
  }
  return statements
}

async function firstAttempts(): Promise<string> {
  const text =
    '{ sessions(first: 50, orderBy: [{ field: ATTEMPT, direction: ASC }, { field: NAME }]) { pageInfo { endCursor } } }'
  return (await server.query(text)).data.sessions.pageInfo.endCursor
}

test('50 sessions with their chains cost as many statements as one', async () => {
  const one = await page(1)
  const fifty = await page(50)
  expect(fifty.length, fifty.join('\n')).toBe(one.length)
})

test('the length of a chain costs nothing', async () => {
  const text = `query ($id: UUID!) { session(id: $id) { ${FIELDS} } }`
  const [, short] = await server.factory.chain(2, { status: 'ERROR', phase: 'EXHAUSTED' })
  const long = (await server.factory.chain(30, { status: 'ERROR', phase: 'EXHAUSTED' })).at(-1)!
  const ofShort = await ask(text, { id: short!.id })
  const ofLong = await ask(text, { id: long.id })
  expect(ofShort.data.session.retryChain).toHaveLength(2)
  expect(ofLong.data.session.retryChain).toHaveLength(30)
  expect(ofLong.statements.length).toBe(ofShort.statements.length)
})
