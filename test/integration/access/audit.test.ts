/** The audit log as administrators read it. */
import { randomUUID } from 'node:crypto'
import pino from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createRefusalLog } from '../../../src/services/access/audit.ts'
import type { Viewer } from '../../../src/services/service-context.ts'
import { type AuditConditions, auditPageStatement } from '../../../src/store/sql/access/audit.sql.ts'
import { eventually } from '../../support/eventually.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { connect } from '../../support/servers/graphql-stream.ts'
import { planOf } from '../../support/database/plans.ts'

let server: TestServer
let projectId: string
let admin: string
let member: string
let viewer: string

beforeAll(async () => {
  server = await startGraphQLServer()
  projectId = await server.factory.project('audited')
  admin = await server.factory.token({ role: 'ADMIN', projectId })
  member = await server.factory.token({ role: 'MEMBER', projectId })
  viewer = await server.factory.token({ role: 'VIEWER', projectId })
})
afterAll(() => server?.close())

const ENTRY = 'entryId at actor tokenId userId requestId address action projectId sessionId details'
const LOG = `query ($filter: AuditFilter, $first: Int, $after: String, $last: Int, $before: String) {
  auditLog(filter: $filter, first: $first, after: $after, last: $last, before: $before) {
  totalCount pageInfo { hasNextPage hasPreviousPage startCursor endCursor } edges { node { ${ENTRY} } } } }`
const CREATE =
  'mutation ($input: CreateSessionInput!) { createSession(input: $input) { __typename ... on Error { code } } }'
const WORK = { name: 'work', command: ['true'], project: 'audited' }

async function log(filter: object = {}, token?: string) {
  const { data, errors } = await server.query(LOG, { filter, first: 100 }, token)
  expect(errors).toBeUndefined()
  return data.auditLog.edges.map(({ node }: any) => ({ ...node, details: JSON.parse(node.details) }))
}

const tokenId = async (token: string) => (await server.query('{ viewer { tokenId } }', {}, token)).data.viewer.tokenId

test('an entry says which token, which request and which address', async () => {
  const response = await fetch(`${server.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${member}` },
    body: JSON.stringify({ query: CREATE, variables: { input: WORK } }),
  })
  const requestId = response.headers.get('x-request-id')
  const id = await tokenId(member)
  expect(await log({ requestId })).toMatchObject([
    { actor: 'MEMBER-token', tokenId: id, requestId, address: '127.0.0.1', action: 'session.create', projectId },
  ])
  const rest = await fetch(`${server.url}/v2/sessions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${member}` },
    body: JSON.stringify(WORK),
  })
  expect(await log({ requestId: rest.headers.get('x-request-id') })).toMatchObject([
    { tokenId: id, address: '127.0.0.1', action: 'session.create' },
  ])
  const socket = connect(server.url, member)
  await socket.subscribe(CREATE, { input: { ...WORK, name: 'over a socket' } }).next()
  await socket.close()
  const entries = await log({ tokenId: id })
  expect(entries).toHaveLength(3)
  expect(entries[0]).toMatchObject({ address: '127.0.0.1', requestId: expect.stringMatching(/^[0-9a-f-]{36}$/) })
})

test('refused changes are written down once a minute, with the number of those before', async () => {
  for (let n = 0; n < 5; n++) await server.query(CREATE, { input: WORK }, viewer)
  await fetch(`${server.url}/v2/sessions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${viewer}` },
    body: JSON.stringify(WORK),
  })
  const filter = { tokenId: await tokenId(viewer), refused: true }
  await eventually(async () => (await log(filter)).length === 2)
  expect((await log(filter)).map(({ details }: any) => [details.operation, details.code]).toSorted()).toEqual([
    ['POST /v2/sessions', 'FORBIDDEN'],
    ['createSession', 'FORBIDDEN'],
  ])
  expect(await log({ ...filter, refused: false })).toEqual([])
})

test('after that minute, the next entry says how many of its kind had none', async () => {
  let now = 0
  const refusals = createRefusalLog({ db: server.db, log: pino({ enabled: false }), now: () => now })
  const clerk: Viewer = { name: 'clerk', role: 'VIEWER', tokenId: randomUUID(), userId: null, projectId }
  const refused = () => refusals.note(clerk, { operation: 'createWebhook', code: 'FORBIDDEN', message: 'no' })
  for (const at of [0, 1, 59_999, 60_000, 60_001]) {
    now = at
    refused()
  }
  const entries = () => log({ tokenId: clerk.tokenId })
  await eventually(async () => (await entries()).length === 2)
  expect((await entries()).map(({ details }: any) => details.before).toSorted()).toEqual([0, 2])
})

describe('it is read', () => {
  test('by administrators, and by those of a project as far as it concerns that', async () => {
    await server.query('mutation { createDomain(input: { name: "elsewhere" }) { __typename } }')
    expect((await log()).map(({ action }: any) => action)).toContain('domain.create')
    const own = await log({}, admin)
    expect(own.length).toBeGreaterThan(0)
    expect(new Set(own.map((entry: any) => entry.projectId))).toEqual(new Set([projectId]))
    expect(await log({ project: 'default' }, admin)).toEqual([])
    for (const token of [member, viewer]) {
      const { data, errors } = await server.query(LOG, {}, token)
      expect(errors?.[0]?.extensions['code']).toBe('FORBIDDEN')
      expect(data).toEqual({ auditLog: null })
    }
  })

  test('page by page, newest first, by time and action', async () => {
    const all = await log()
    const found: string[] = []
    for (let after: string | null = null; ;) {
      const { data } = await server.query(LOG, { first: 2, after })
      found.push(...data.auditLog.edges.map(({ node }: any) => node.entryId))
      expect(data.auditLog.totalCount).toBe(all.length)
      if (!data.auditLog.pageInfo.hasNextPage) break
      after = data.auditLog.pageInfo.endCursor
    }
    expect(found).toEqual(all.map(({ entryId }: any) => entryId))
    const back: string[][] = []
    for (let before: string | null = null; ;) {
      const { data } = await server.query(LOG, { last: 2, before })
      back.unshift(data.auditLog.edges.map(({ node }: any) => node.entryId))
      if (!data.auditLog.pageInfo.hasPreviousPage) break
      before = data.auditLog.pageInfo.startCursor
    }
    expect(back.length).toBeGreaterThan(2)
    expect(back.flat()).toEqual(found)
    const [newest] = all
    expect((await log({ at: { gte: newest.at } })).every(({ at }: any) => at >= newest.at)).toBe(true)
    expect(await log({ at: { gt: '2100-01-01T00:00:00Z' } })).toEqual([])
    expect(new Set((await log({ action: ['session.create'] })).map(({ action }: any) => action))).toEqual(
      new Set(['session.create']),
    )
    for (const wrong of [{ after: 'bent' }, { before: 'bent' }]) {
      const { errors } = await server.query(LOG, wrong)
      expect(errors?.[0]?.extensions['code']).toBe('VALIDATION_FAILED')
    }
  })
})

test('a page of a large log is found by an index', async () => {
  await server.db.query(
    `INSERT INTO audit_log (actor, action, project_id, token_id, session_id)
    SELECT 'n', CASE WHEN n % 5000 = 0 THEN 'refused' ELSE 'x' END,
      CASE WHEN n % 2000 = 0 THEN $1::uuid END, CASE WHEN n % 2000 = 1 THEN $1::uuid END, CASE WHEN n % 2000 = 2 THEN $1::uuid END
    FROM generate_series(1, 100000) AS n`,
    [projectId],
  )
  await server.db.query('ANALYZE audit_log')
  const indexOf = async (conditions: Partial<AuditConditions>) => {
    const plans = [false, true].map(async (backward) => {
      const page = { olderThan: null, newerThan: null, backward, limit: 21 }
      const { text, values } = auditPageStatement({ visibleProjectId: null, ...conditions }, page)
      return (await planOf(server.db, { text, values })).map((node) => node['Index Name'])
    })
    const [forward, back] = await Promise.all(plans)
    expect(back).toEqual(forward)
    return forward
  }
  expect(await indexOf({})).toContain('audit_log_pkey')
  expect(await indexOf({ visibleProjectId: projectId })).toContain('audit_log_project')
  expect(await indexOf({ tokenId: projectId })).toContain('audit_log_token')
  expect(await indexOf({ sessionId: projectId })).toContain('audit_log_session')
  expect(await indexOf({ refused: true })).toContain('audit_log_refused')
})
