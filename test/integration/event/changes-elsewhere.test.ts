/** Changes that arise on another server: each server's subscribers receive those that the others make. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createConnection, type Connection } from '../../../src/client/connection/create-connection.ts'
import type { ServerProcess } from '../../../src/cli/demo/server-process.ts'
import { eventually } from '../../support/eventually.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { startServerBeside } from '../../support/servers/server-beside.ts'

let server: TestServer
let other: ServerProcess
let here: Connection
let there: Connection

beforeAll(async () => {
  server = await startGraphQLServer()
  other = await startServerBeside(server.database)
  here = createConnection({ url: server.url, token: server.adminToken })
  there = createConnection({ url: other.url, token: server.adminToken })
})
afterAll(async () => {
  await here?.close()
  await there?.close()
  await other?.stop()
  await server?.close()
})

interface Changes {
  changes: { agentIds: string[]; resubmissionIds: string[]; sessionIds: string[] }
}

async function change(mutation: string, input: object, selection: string): Promise<any> {
  const type = `${mutation[0]!.toUpperCase()}${mutation.slice(1)}`
  const data = await there.request<any>(
    `mutation ($input: ${type}Input!) { it: ${mutation}(input: $input) { ... on ${type}Payload { ${selection} } ... on Error { message } } }`,
    { input },
  )
  expect(data.it.message).toBeUndefined()
  return data.it
}

test('agents, resubmissions and sessions', async () => {
  const agentId = await server.factory.agent()
  const failed = await server.factory.session({ status: 'ERROR' })
  const { eventCursor } = await here.request<{ eventCursor: string }>('{ eventCursor }')
  const stream = here.stream<Changes>(
    `subscription ($after: String) { changes(after: $after, everyMs: 100) { cursor agentIds resubmissionIds sessionIds } }`,
    { after: eventCursor },
  )
  const received: Changes['changes'][] = []
  const receiving = (async () => {
    for await (const { changes } of stream) received.push(changes)
  })()
  // The first message names all agents: what is received from here on is a change.
  await eventually(() => received.some(({ agentIds }) => agentIds.includes(agentId)))
  const since = (count: number) => received.slice(count)

  let before = received.length
  await change('drainAgent', { agentId }, 'agent { status }')
  await eventually(() => since(before).some(({ agentIds }) => agentIds.includes(agentId)))

  before = received.length
  const { resubmission } = await change(
    'resubmitSessions',
    { sessionIds: [failed.id], clientKey: 'elsewhere' },
    'resubmission { resubmissionId }',
  )
  await eventually(() =>
    since(before).some(({ resubmissionIds }) => resubmissionIds.includes(resubmission.resubmissionId)),
  )

  const { session } = await change('createSession', { name: 'elsewhere', command: ['true'] }, 'session { sessionId }')
  await eventually(() => received.some(({ sessionIds }) => sessionIds.includes(session.sessionId)))
  await stream.return!()
  await receiving
})
