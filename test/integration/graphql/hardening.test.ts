/** What strangers may write into names, which groups agents may join, and what GraphiQL keeps. */
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())

const CREATE = `mutation ($input: CreateSessionInput!) { createSession(input: $input) { __typename ... on ValidationError { issues { path message } } } }`
const TOKEN = `mutation ($input: CreateTokenInput!) { createToken(input: $input) { __typename
  ... on CreateTokenPayload { secret token { resourceGroups } } ... on ValidationError { issues { path message } } } }`

test.each([
  'red\u001b[31m',
  'bell\u0007',
  'over\rwritten',
  'c1\u009b2J',
  'turned\u202ename',
  'two\nlines',
  'line\u2028',
])('a name with control characters is refused: %j', async (name) => {
  const input = { name, command: ['true'], labels: [{ key: 'team', value: name }] }
  const { data } = await server.query(CREATE, { input })
  expect(data.createSession.issues.map(({ path }: any) => path)).toEqual(['name', 'labels.0.value'])
  const token = await server.query(TOKEN, { input: { name, role: 'VIEWER', project: 'default' } })
  expect(token.data.createToken.issues).toEqual([{ path: 'name', message: 'must not contain control characters' }])
})

test('names in any script, and programs with any text, are not', async () => {
  const input = { name: 'Größe 大きさ الحجم 👩‍💻', command: ['printf', '\u001b[31m\n'] }
  expect((await server.query(CREATE, { input })).data.createSession.__typename).toBe('CreateSessionPayload')
})

describe('a token of agents that is bound to resource groups', () => {
  const register = (token: string, resourceGroup: string, agentId: string) =>
    fetch(`${server.url}/agent/v1/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({
        agentId,
        instanceId: crypto.randomUUID(),
        name: 'bound',
        resourceGroup,
        address: 'here',
        version: '1',
        slots: { cpu: '1' },
        labels: {},
      }),
    })
  const sync = (token: string, agentId: string, instanceId: string) =>
    fetch(`${server.url}/agent/v1/sync`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({ agentId, instanceId, sequence: 1, observed: [], logs: [], waitMs: 0 }),
    })

  test('registers agents of these, and of no others', async () => {
    await server.query('mutation { createResourceGroup(input: { name: "gpu" }) { __typename } }')
    const input = { name: 'node', role: 'AGENT', resourceGroups: ['gpu'] }
    const { secret, token } = (await server.query(TOKEN, { input })).data.createToken
    expect(token.resourceGroups).toEqual(['gpu'])
    const [inside, outside] = [crypto.randomUUID(), crypto.randomUUID()]
    expect((await register(secret, 'gpu', inside)).status).toBe(200)
    const refused = await register(secret, 'default', outside)
    expect(refused.status).toBe(403)
    expect(await refused.text()).toContain('is for agents of gpu, not of default')
    // Moved since, by whoever writes to the database or by an older server.
    await server.db.query(`UPDATE agents SET resource_group = 'default' WHERE id = $1`, [inside])
    expect((await sync(secret, inside, crypto.randomUUID())).status).toBe(403)
  })

  test('names groups that there are, and is an agent’s', async () => {
    const issuesOf = async (input: object) =>
      (await server.query(TOKEN, { input: { name: 'n', ...input } })).data.createToken.issues
    expect(await issuesOf({ role: 'AGENT', resourceGroups: ['nowhere'] })).toMatchObject([{ path: 'resourceGroups' }])
    expect(await issuesOf({ role: 'AGENT', resourceGroups: [] })).toMatchObject([{ path: 'resourceGroups' }])
    const viewer = { role: 'VIEWER', project: 'default', resourceGroups: ['default'] }
    expect(await issuesOf(viewer)).toMatchObject([
      { path: 'resourceGroups', message: 'Only agents join resource groups' },
    ])
  })
})

test('GraphiQL keeps no headers, and its page lets no script run but its own', async () => {
  const html = await (await fetch(`${server.url}/graphql`, { headers: { accept: 'text/html' } })).text()
  const policy = /<meta http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(html)![1]!
  const scripts = [...html.matchAll(/<script\b[^>]*>([\s\S]*?)<\/script>/g)].map(([, text]) => text!)
  expect(scripts.length).toBeGreaterThan(0)
  const allowed = /script-src ([^;]*)/.exec(policy)![1]!.split(' ')
  expect(allowed.every((source) => source.startsWith("'sha256-"))).toBe(true)
  for (const text of scripts)
    expect(allowed).toContain(`'sha256-${createHash('sha256').update(text).digest('base64')}'`)
  expect(html.indexOf('Content-Security-Policy')).toBeLessThan(html.indexOf('<script'))
  expect(html).not.toMatch(/shouldPersistHeaders["']?: ?true/)
  expect(html).toMatch(/shouldPersistHeaders/)
})
