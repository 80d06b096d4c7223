/** Events that wait together, and are too much for one answer: sent one by one, each within the bounds of an answer. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { writeEvents } from '../../support/database/outbox.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { connect } from '../../support/servers/graphql-stream.ts'

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())

/** What a subscriber that was away receives of events of these sessions. */
async function received(sessions: readonly { id: string; chainId: string }[], selection: string): Promise<any[]> {
  const after = (await server.query('{ eventCursor }')).data.eventCursor
  await server.db.transaction((tx) =>
    writeEvents(
      tx,
      sessions.map(({ id, chainId }) => ({ sessionId: id, chainId })),
    ),
  )
  server.wake.wake('events')
  const connection = connect(server.url, server.adminToken)
  try {
    const chainIds = [...new Set(sessions.map(({ chainId }) => chainId))]
    const stream = connection.subscribe(
      `subscription ($after: String, $chainIds: [UUID!]) { sessionEvents(after: $after, filter: { chainIds: $chainIds }) {
        sessionId session { ${selection} } } }`,
      { after, chainIds },
    )
    const results = []
    for (const _session of sessions) results.push((await stream.next()).value)
    return results
  } finally {
    await connection.close()
  }
}

test('more fields than an answer has', async () => {
  const ATTEMPTS = 40
  const EVENTS = 90
  const FIELDS = 80
  const chain = await server.factory.chain(ATTEMPTS, { status: 'ERROR' })
  const newest = chain.at(-1)!
  const sessions = Array.from({ length: EVENTS }, () => newest)
  const fields = Array.from({ length: FIELDS }, (_, n) => `f${n}: status`).join(' ')
  const results = await received(sessions, `retryChain { ${fields} }`)
  expect(results.flatMap(({ errors }) => errors ?? [])).toEqual([])
  for (const { data } of results) expect(data.sessionEvents.session.retryChain).toHaveLength(ATTEMPTS)
  expect(ATTEMPTS * EVENTS * FIELDS).toBeGreaterThan(200_000)
})

test('more bytes than an answer is made of', async () => {
  const sessions = []
  for (let n = 0; n < 24; n++) sessions.push(await server.factory.session({ status: 'RUNNING' }))
  const value = 'x'.repeat(900_000)
  await server.db.query('UPDATE sessions SET environ = $2 WHERE id = ANY($1)', [
    sessions.map(({ id }) => id),
    JSON.stringify([{ name: 'LARGE', value }]),
  ])
  const results = await received(sessions, 'environ { value }')
  expect(results.flatMap(({ errors }) => errors ?? [])).toEqual([])
  expect(results.map(({ data }) => data.sessionEvents.sessionId)).toEqual(sessions.map(({ id }) => id))
  for (const { data } of results) expect(data.sessionEvents.session.environ[0].value).toHaveLength(value.length)
})
