/** The fields `actions` and `can` agree with the mutations. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { STATUSES } from '../../../src/domain/session/lifecycle.ts'
import { insertRows } from '../../support/database/insert-rows.ts'
import { recordStatements } from '../../support/database/record-statements.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import type { SessionRow } from '../../support/sessions/factories.ts'
import { checkProperty } from '../../support/seeds.ts'

let server: TestServer
let projects: Record<'roomy' | 'full', string>
const tokens: Record<string, string> = {}

beforeAll(async () => {
  server = await startGraphQLServer()
  const { factory, db } = server
  projects = { roomy: await factory.project('roomy'), full: await factory.project('full') }
  await insertRows(db, 'resource_policies', [{ scope: 'PROJECT', scope_id: projects.full, slots: {}, max_pending: 0 }])
  for (const [name, projectId] of Object.entries(projects)) {
    for (const role of ['ADMIN', 'MEMBER', 'VIEWER'] as const)
      tokens[`${name} ${role}`] = await factory.token({ role, projectId })
  }
})
afterAll(() => server?.close())

const PHASES = ['SCHEDULED', 'HELD', 'EXHAUSTED', 'NOT_ELIGIBLE', 'CANCELLED', 'NONE', 'SUCCEEDED', null] as const

const plights = fc.record({
  project: fc.constantFrom('roomy' as const, 'roomy' as const, 'full' as const),
  role: fc.constantFrom('ADMIN', 'MEMBER', 'MEMBER', 'VIEWER'),
  status: fc.constantFrom(...STATUSES, 'ERROR' as const, 'ERROR' as const),
  sessionType: fc.constantFrom('BATCH' as const, 'BATCH' as const, 'BATCH' as const, 'INTERACTIVE' as const),
  phase: fc.constantFrom(...PHASES),
  eligible: fc.boolean(),
  trait: fc.constantFrom('', '', '', 'child', 'silent agent', 'unreadable policy', 'creation id taken'),
})

type Plight = typeof plights extends fc.Arbitrary<infer T> ? T : never

const RESUBMITTABLE: Plight = {
  project: 'roomy',
  role: 'MEMBER',
  status: 'ERROR',
  sessionType: 'BATCH',
  phase: 'SCHEDULED',
  eligible: true,
  trait: '',
}

async function sessionIn({ project, status, sessionType, phase, eligible, trait }: Plight): Promise<SessionRow> {
  const { factory, db } = server
  const retryPolicy = { maxRetries: 2, ...(!eligible && { eligibleCauses: [] }) }
  const session = await factory.session({
    projectId: projects[project],
    ...(trait === 'child' ? { status: 'ERROR' as const, phase: null } : { status, sessionType, phase }),
    retryPolicy,
  })
  const { id } = session
  if (trait === 'child') await factory.session({ parent: session, retryPolicy })
  if (trait === 'silent agent') {
    await db.query('UPDATE agents SET last_heard_at = now()')
    await db.query('UPDATE kernels SET confirmed_gone = false WHERE session_id = $1 AND agent_id IS NOT NULL', [id])
  }
  if (trait === 'unreadable policy')
    await db.query(`UPDATE sessions SET retry_policy = '{"maxRetries": -1}' WHERE id = $1`, [id])
  if (trait === 'creation id taken') {
    const other = await factory.session({ projectId: projects[project], status: 'RUNNING' })
    const taken = `creation-${id}:resubmission:1`
    await db.query('UPDATE sessions SET creation_id = $2 WHERE id = $1', [other.id, taken])
  }
  return session
}

const input = (fields: string) => `(input: {${fields}})`
const MUTATIONS: Record<string, (id: string) => string> = {
  RETRY_NOW: (id) => `retryNow${input(`sessionId: "${id}"`)} { ... on Error { message } }`,
  CANCEL_RETRY: (id) => `cancelRetry${input(`sessionId: "${id}"`)} { ... on Error { message } }`,
  TERMINATE: (id) => `terminateSession${input(`sessionId: "${id}"`)} { ... on Error { message } }`,
  RESUBMIT: (id) =>
    `resubmitSessions${input(`sessionIds: ["${id}"]`)} {
      ... on Error { message } ... on ResubmitSessionsPayload { refused { message } } }`,
}

/** Null if it was done. */
async function refusalOf(action: string, id: string, token: string): Promise<string | null> {
  const { data } = await server.query(`mutation { done: ${MUTATIONS[action]!(id)} }`, {}, token)
  return data.done.message ?? data.done.refused?.[0]?.message ?? null
}

/** The remaining time in which a silent agent may still run it. */
const still = (message: string | null) => message?.replace(/for \d+ s$/, 'for a while') ?? null

const ACTIONS = 'actions { action allowed reason }'

test('an action is allowed if its mutation succeeds, and otherwise has its error', async () => {
  const seen = new Set<string>()
  await checkProperty(
    fc.asyncProperty(plights, async (plight) => {
      const token = tokens[`${plight.project} ${plight.role}`]!
      for (const action of Object.keys(MUTATIONS)) {
        const { id } = await sessionIn(plight)
        const { data } = await server.query(`query ($id: UUID!) { session(id: $id) { ${ACTIONS} } }`, { id }, token)
        const said = data.session.actions.find((each: any) => each.action === action)
        const refusal = await refusalOf(action, id, token)
        seen.add(`${action} ${refusal?.replaceAll(id, '…').replace(/[\d:] ?.*$/, '') ?? 'done'}`)
        expect({ action, ...said, reason: still(said.reason) }).toEqual({
          action,
          allowed: refusal === null,
          reason: still(refusal),
        })
      }
    }),
    { numRuns: 80, examples: PHASES.map((phase) => [{ ...RESUBMITTABLE, phase }]) },
  )
  const done = [...seen].filter((each) => each.endsWith(' done')).toSorted()
  expect(done).toEqual(['CANCEL_RETRY done', 'RESUBMIT done', 'RETRY_NOW done', 'TERMINATE done'])
  expect(seen.size).toBeGreaterThan(15)
})

test('those of a chain are those of its newest attempt, and a page of either costs as much as one', async () => {
  const counts: number[] = []
  for (const length of [2, 20]) {
    const projectId = await server.factory.project()
    const chains = []
    for (let n = 0; n < length; n++) {
      chains.push(
        await server.factory.chain(2, { projectId, status: n % 2 === 0 ? 'RUNNING' : 'ERROR', phase: 'HELD' }),
      )
    }
    const token = await server.factory.token({ role: 'MEMBER', projectId })
    const document = `{ chains(first: 50) { edges { node { chainId ${ACTIONS} newestAttempt { ${ACTIONS} } } } } }`
    await server.query(document, {}, token)
    const { statements } = await recordStatements(async () => {
      const { data } = await server.query(document, {}, token)
      const nodes = data.chains.edges.map(({ node }: any) => node)
      expect(nodes).toHaveLength(length)
      for (const { actions, newestAttempt } of nodes) expect(actions).toEqual(newestAttempt.actions)
    })
    counts.push(statements.filter((sql) => !/session_events|api_tokens/.test(sql)).length)
  }
  expect(counts[1]).toBe(counts[0])
})

describe('a token can do what its mutations do not refuse', () => {
  const CAN = 'can { createSessions manageRetries resubmit terminate administer }'

  test.each([
    ['ADMIN', true, true],
    ['MEMBER', true, false],
    ['VIEWER', false, false],
  ] as const)('%s', async (role, changes, administers) => {
    const token = tokens[`roomy ${role}`]!
    const { data } = await server.query(`{ viewer { name role project { name } ${CAN} } }`, {}, token)
    expect(data.viewer).toEqual({
      name: `${role}-token`,
      role,
      project: { name: 'roomy' },
      can: {
        createSessions: changes,
        manageRetries: changes,
        resubmit: changes,
        terminate: changes,
        administer: administers,
      },
    })
    const created = await server.query(
      'mutation { createSession(input: {name: "a", project: "roomy", command: ["true"]}) { __typename } }',
      {},
      token,
    )
    expect(created.data.createSession.__typename === 'CreateSessionPayload').toBe(changes)
    const audit = await server.query('{ auditLog { edges { node { action } } } }', {}, token)
    expect(audit.data.auditLog !== null).toBe(administers)
  })

  test('that of a user has the rights that the user has left in its project, and none without a membership', async () => {
    const projectId = await server.factory.project()
    const member = (text: string) => server.query(`mutation { ${text} }`, {})
    const { rows } = await server.db.query<{ name: string }>('SELECT name FROM projects WHERE id = $1', [projectId])
    const project = rows[0]!.name
    const membership = (role: string) =>
      member(`setProjectMember(input: {project: "${project}", user: "vera", role: ${role}}) { __typename }`)
    await member('createUser(input: {name: "vera"}) { __typename }')
    await membership('MEMBER')
    const made = await member(
      `createToken(input: {name: "hers", role: MEMBER, project: "${project}", user: "vera"}) {
        ... on CreateTokenPayload { token { tokenId } } }`,
    )
    const { tokenId } = made.data.createToken.token
    const rightsOf = async () => {
      const { data } = await server.query(`{ tokens(first: 100) { edges { node { tokenId ${CAN} } } } }`)
      const node = data.tokens.edges.map((edge: any) => edge.node).find((each: any) => each.tokenId === tokenId)
      return node.can.terminate
    }
    expect(await rightsOf()).toBe(true)
    await membership('VIEWER')
    expect(await rightsOf()).toBe(false)
    await membership('MEMBER')
    await member(`revokeToken(input: {tokenId: "${tokenId}"}) { __typename }`)
    expect(await rightsOf()).toBe(false)
  })
})

test('a field that the role may not read is null with an error at its path, and the rest is answered', async () => {
  const answer = await server.query(
    '{ viewer { role } tokens { totalCount } auditLog { totalCount } sessions { totalCount } }',
    {},
    tokens['roomy VIEWER'],
  )
  expect(answer.data).toMatchObject({ viewer: { role: 'VIEWER' }, tokens: null, auditLog: null })
  expect(answer.data.sessions.totalCount).toEqual(expect.any(Number))
  expect(answer.errors!.map(({ path, extensions }) => [path, extensions['code']])).toEqual([
    [['tokens'], 'FORBIDDEN'],
    [['auditLog'], 'FORBIDDEN'],
  ])
})
