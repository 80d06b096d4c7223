/** Ids by which caches keep things once: everywhere the same, of one thing alone, and read by whoever may. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'

let server: TestServer
let projects: { id: string; name: string; admin: string; viewer: string; sessionId: string }[]

beforeAll(async () => {
  server = await startGraphQLServer()
  projects = await Promise.all(['lab', 'site'].map(projectWithEverything))
})
afterAll(() => server?.close())

async function projectWithEverything(name: string) {
  const { factory } = server
  const id = await factory.project(name)
  const [admin, viewer] = await Promise.all([
    factory.token({ role: 'ADMIN', projectId: id }),
    factory.token({ role: 'VIEWER', projectId: id }),
  ])
  const { id: sessionId } = await factory.session({
    projectId: id,
    status: 'ERROR',
    phase: 'SCHEDULED',
    retryPolicy: { maxRetries: 2 },
  })
  await factory.deployment({ projectId: id, name: `${name}-service` })
  const failed = await factory.session({ projectId: id, status: 'ERROR' })
  await change('createUser', { name: `user-of-${name}` })
  await change('setProjectMember', { project: name, user: `user-of-${name}`, role: 'MEMBER' })
  await change('setQuota', { scope: 'PROJECT', name, maxRunning: 5 })
  await change('setRetrySwitch', { scope: 'PROJECT', name, rateLimit: { perSecond: 1, burst: 1 } })
  await change('setRetryDefaults', { scope: 'PROJECT', name, policy: { maxRetries: 2 } })
  await change('resubmitSessions', { sessionIds: [failed.id, sessionId], clientKey: name })
  return { id, name, admin, viewer, sessionId }
}

async function change(mutation: string, input: object, selection = '__typename', token = server.adminToken) {
  const type = `${mutation[0]!.toUpperCase()}${mutation.slice(1)}`
  const text = `mutation ($input: ${type}Input!) { it: ${mutation}(input: $input) {
    __typename ... on ${type}Payload { ${selection} } ... on Error { message } } }`
  const { data, errors } = await server.query(text, { input }, token)
  expect(errors).toBeUndefined()
  expect(data.it).toMatchObject({ __typename: `${type}Payload` })
  return data.it
}

const EVERYTHING = `{
  viewer { ...token }
  tokens(first: 10) { edges { node { ...token } } }
  quotas { ...quota }
  projects(first: 10) { edges { node { quota { ...quota } } } }
  retrySwitches { __typename id scope name }
  retryDefaults { __typename id scope name }
  auditLog(first: 10) { edges { node { __typename id entryId } } }
  users(first: 10) { edges { node { memberships { __typename id project { name } } } } }
  deployments(first: 10) { edges { node { name revision { ...revision } revisions { edges { node { ...revision } } } } } }
  retryDecisions(first: 10) { edges { node { ...decision } } }
  sessions(first: 10) { edges { node { retryDecision { ...decision } } } }
  resubmissions(first: 10) { edges { node {
    items { edges { node { ...item } } } done: items(status: DONE) { edges { node { ...item } } }
  } } }
}
fragment token on Token { __typename id tokenId }
fragment quota on Quota { __typename id scope name }
fragment decision on RetryDecision { __typename id sessionId }
fragment revision on DeploymentRevision { __typename id command createdAt }
fragment item on ResubmissionItem { __typename id sessionId }`

interface Thing {
  __typename: string
  id: string
}

function thingsIn(value: unknown): Thing[] {
  if (Array.isArray(value)) return value.flatMap(thingsIn)
  if (typeof value !== 'object' || value === null) return []
  const inside = Object.values(value).flatMap(thingsIn)
  return 'id' in value ? [value as Thing, ...inside] : inside
}

test('the same thing has the same id wherever it is, and no two have the same', async () => {
  const { data, errors } = await server.query(EVERYTHING)
  expect(errors).toBeUndefined()
  const things = thingsIn(data)
  const byId = Map.groupBy(things, ({ id }) => id)
  for (const [id, same] of byId) for (const each of same) expect(each, id).toEqual(same[0])
  const seen = Map.groupBy(things, ({ __typename }) => __typename)
  const counts = [...seen].map(([name, all]) => [name, all.length, new Set(all.map(({ id }) => id)).size] as const)
  for (const [name, , distinct] of counts) expect(distinct, name).toBeGreaterThan(1)
  // These are found by two ways each.
  const twice = counts.filter(([, all, distinct]) => all > distinct).map(([name]) => name)
  expect(twice).toEqual(
    expect.arrayContaining(['Token', 'Quota', 'RetryDecision', 'DeploymentRevision', 'ResubmissionItem']),
  )
  expect([...seen.keys()]).toEqual(
    expect.arrayContaining(['RetrySwitch', 'RetryDefaults', 'AuditEntry', 'ProjectMember']),
  )
})

test('what is set answers with the id under which it is listed', async () => {
  const { data } = await server.query(EVERYTHING)
  const listed = new Set(thingsIn(data).map(({ id }) => id))
  const name = 'lab'
  const set = [
    (await change('setQuota', { scope: 'PROJECT', name, maxRunning: 6 }, 'quota { id }')).quota.id,
    (await change('setRetrySwitch', { scope: 'PROJECT', name, disabled: true }, 'retrySwitch { id }')).retrySwitch.id,
    (await change('setRetryDefaults', { scope: 'PROJECT', name, policy: { maxRetries: 3 } }, 'retryDefaults { id }'))
      .retryDefaults.id,
  ]
  for (const id of set) expect(listed).toContain(id)
})

test('what is removed is named by the id that it had', async () => {
  const { data } = await server.query(EVERYTHING)
  const things = thingsIn(data) as (Thing & { project?: { name: string } })[]
  const made = { name: 'short-lived', role: 'VIEWER', project: 'lab' }
  const { token } = await change('createToken', made, 'token { id tokenId }')
  expect((await change('revokeToken', { tokenId: token.tokenId }, 'deletedId')).deletedId).toBe(token.id)
  const membership = things.find(
    ({ __typename, project }) => __typename === 'ProjectMember' && project!.name === 'lab',
  )!
  const removed = await change('removeProjectMember', { project: 'lab', user: 'user-of-lab' }, 'deletedId')
  expect(removed.deletedId).toBe(membership.id)
  const agentId = await server.factory.agent()
  await change('drainAgent', { agentId })
  const { agent, deletedId } = await change('removeAgent', { agentId }, 'agent { id } deletedId')
  expect(deletedId).toBe(agent.id)
})

describe('by their ids', () => {
  const NODES = `query ($ids: [ID!]!) { nodes(ids: $ids) { id ... on Token { name } ... on RetryDecision { sessionId } } }`
  const own = async (token: string) => (await server.query('{ viewer { id name } }', {}, token)).data.viewer

  test('tokens are read by administrators of their project, and by themselves', async () => {
    const [lab, site] = projects as [(typeof projects)[number], (typeof projects)[number]]
    const [labViewer, siteViewer] = [await own(lab.viewer), await own(site.viewer)]
    const ids = [labViewer.id, siteViewer.id]
    const read = async (token: string) => (await server.query(NODES, { ids }, token)).data.nodes
    expect(await read(server.adminToken)).toEqual([labViewer, siteViewer])
    expect(await read(lab.admin)).toEqual([labViewer, null])
    expect(await read(lab.viewer)).toEqual([labViewer, null])
    expect(await read(site.viewer)).toEqual([null, siteViewer])
    const another = await server.factory.token({ role: 'MEMBER', projectId: lab.id })
    expect(await read(another)).toEqual([null, null])
  })

  test('decisions are read by whoever sees their session', async () => {
    const ids = projects.map(({ sessionId }) => Buffer.from(`RetryDecision:${sessionId}`).toString('base64'))
    const read = async (token: string) => (await server.query(NODES, { ids }, token)).data.nodes
    const found = projects.map(({ sessionId }, place) => ({ id: ids[place], sessionId }))
    expect(await read(server.adminToken)).toEqual(found)
    expect(await read(projects[0]!.viewer)).toEqual([found[0], null])
    expect(await read(projects[1]!.admin)).toEqual([null, found[1]])
  })
})
