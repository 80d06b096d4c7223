/** Changes by id, gathered: complete, each once, behind any cursor; and the nodes that are then read by those ids. */
import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { CHANGED_IDS_MAX, NODES_MAX } from '../../../src/domain/limits.ts'
import { decodeCursor } from '../../../src/domain/events.ts'
import { insertRows } from '../../support/database/insert-rows.ts'
import { writeDeploymentEvents, writeEvents, type WrittenEvent } from '../../support/database/outbox.ts'
import { recordStatements } from '../../support/database/record-statements.ts'
import { eventually } from '../../support/eventually.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { connect, type Stream } from '../../support/servers/graphql-stream.ts'
import type { SessionRow } from '../../support/sessions/factories.ts'
import { checkProperty } from '../../support/seeds.ts'

let server: TestServer
const connections: { close(): unknown }[] = []

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterEach(async () => {
  for (const connection of connections.splice(0)) await connection.close()
  await eventually(() => server.bus.subscribers === 0)
})
afterAll(() => server?.close())

function open(token = server.adminToken) {
  const connection = connect(server.url, token)
  connections.push(connection)
  return connection
}

const CHANGES = `subscription ($filter: ChangeFilter, $after: String, $everyMs: Int) {
  changes(filter: $filter, after: $after, everyMs: $everyMs) {
    cursor chainIds sessionIds agentIds deploymentIds resubmissionIds bulkActionIds missed } }`

interface Batch {
  cursor: string
  chainIds: string[]
  sessionIds: string[]
  agentIds: string[]
  deploymentIds: string[]
  resubmissionIds: string[]
  missed: boolean
}

async function next(stream: Stream): Promise<Batch> {
  const [{ changes }] = await stream.take(1)
  return changes
}

async function eventCursor(): Promise<string> {
  return (await server.query('{ eventCursor }')).data.eventCursor
}

async function happen(events: readonly WrittenEvent[]) {
  await server.db.transaction((tx) => writeEvents(tx, events))
  server.wake.wake('events')
}

/** Until all that is written can be read: a transaction that runs for long, be it of another database, holds it back. */
async function readable() {
  const { rows } = await server.db.query<{ xid: string }>(
    'SELECT xid::text FROM session_events ORDER BY xid DESC LIMIT 1',
  )
  await eventually(async () => decodeCursor(await eventCursor())!.xid > BigInt(rows[0]!.xid))
}

async function subscribed(count: number) {
  await eventually(() => server.bus.subscribers === count)
}

/** Sessions of which there are events behind the first cursor, up to the second. */
async function sessionsBetween(from: string, to: string, chainIds: string[] | null): Promise<string[]> {
  const [after, through] = [decodeCursor(from)!, decodeCursor(to)!]
  const { rows } = await server.db.query<{ id: string }>(
    `SELECT DISTINCT session_id AS id FROM session_events
     WHERE (xid, id) > ($1::xid8, $2::int8) AND (xid, id) <= ($3::xid8, $4::int8) AND session_id IS NOT NULL
       AND ($5::uuid[] IS NULL OR chain_id = ANY($5))
     ORDER BY 1`,
    [String(after.xid), String(after.id), String(through.xid), String(through.id), chainIds],
  )
  return rows.map(({ id }) => id)
}

describe('batches', () => {
  test('name each event once, in the batch whose cursor passes it, however connections are cut', async () => {
    const chains = Array.from({ length: 6 }, () => randomUUID())
    await checkProperty(
      fc.asyncProperty(
        fc.array(
          fc.record({
            events: fc.array(fc.nat(5), { maxLength: 30 }),
            next: fc.constantFrom('reads', 'reads', 'is cut', 'waits'),
          }),
          { minLength: 1, maxLength: 8 },
        ),
        fc.boolean(),
        async (steps, filtered) => {
          const filter = filtered ? { chainIds: chains.slice(0, 3) } : { project: 'default' }
          let cursor = await eventCursor()
          let connection = open()
          const begin = () => connection.subscribe(CHANGES, { filter, after: cursor, everyMs: 100 })
          let stream = begin()
          const take = async () => {
            const batch = await next(stream)
            const named = await sessionsBetween(cursor, batch.cursor, filtered ? filter.chainIds! : null)
            expect({ ...batch, sessionIds: batch.sessionIds.toSorted() }).toMatchObject({
              sessionIds: named,
              missed: false,
            })
            cursor = batch.cursor
          }
          for (const { events, next: step } of steps) {
            await happen(events.map((n) => ({ sessionId: randomUUID(), chainId: chains[n]! })))
            const some = (await sessionsBetween(cursor, await eventCursor(), filtered ? filter.chainIds! : null)).length
            if (step === 'reads' && some > 0) await take()
            if (step === 'is cut') {
              await connection.close()
              connection = open()
              stream = begin()
            }
          }
          const marker = randomUUID()
          await happen([{ sessionId: marker, chainId: chains[0]! }])
          for (let seen = false; !seen;) {
            const before = cursor
            await take()
            seen = (await sessionsBetween(before, cursor, null)).includes(marker)
          }
          await connection.close()
        },
      ),
      { numRuns: 15 },
    )
  })

  test('gather the changes until the next one is due', async () => {
    const chainId = randomUUID()
    const filter = { chainIds: [chainId] }
    const connection = open()
    const stream = connection.subscribe(CHANGES, { filter, everyMs: 60_000 })
    const first = next(stream)
    await subscribed(1)
    const sessions = Array.from({ length: 300 }, () => randomUUID())
    await happen([{ sessionId: sessions[0]!, chainId }])
    const { cursor, sessionIds } = await first
    expect(sessionIds).toEqual([sessions[0]])
    for (const sessionId of sessions.slice(1)) await happen([{ sessionId, chainId }])
    await readable()
    const again = await next(open().subscribe(CHANGES, { filter, after: cursor, everyMs: 60_000 }))
    // Their order is not promised.
    expect(again.sessionIds.toSorted()).toEqual(sessions.slice(1).toSorted())
    expect(again.chainIds).toEqual([chainId])
  })

  test('report that more has changed than they name, and continue behind it', async () => {
    const projectId = await server.factory.project('crowded')
    const filter = { project: 'crowded' }
    const after = await eventCursor()
    const events = Array.from({ length: CHANGED_IDS_MAX + 1 }, () => ({ sessionId: randomUUID(), projectId }))
    await happen(events)
    await readable()
    const batch = await next(open().subscribe(CHANGES, { filter, after }))
    expect(batch).toMatchObject({ missed: true })
    expect(batch.sessionIds).toHaveLength(CHANGED_IDS_MAX)
    const stream = open().subscribe(CHANGES, { filter, after: batch.cursor })
    const sessionId = randomUUID()
    await happen([{ sessionId, projectId }])
    for (let seen: string[] = []; seen.length === 0;) {
      const { sessionIds, missed } = await next(stream)
      seen = sessionIds
      if (seen.length > 0) expect({ seen, missed }).toEqual({ seen: [sessionId], missed: false })
    }
  })

  test('also report that the cursor has expired', async () => {
    const after = await eventCursor()
    const { xid } = decodeCursor(after)!
    const { rows } = await server.db.query<{ value: object }>(
      `SELECT value FROM settings WHERE key = 'events.removed-through'`,
    )
    const remove = (value: object) =>
      server.db.query(`UPDATE settings SET value = $1 WHERE key = 'events.removed-through'`, [JSON.stringify(value)])
    await remove({ xid: String(xid + 1n), id: '1' })
    const batch = await next(open().subscribe(CHANGES, { after }))
    await remove(rows[0]!.value)
    expect(batch.missed).toBe(true)
    expect(decodeCursor(batch.cursor)!.xid).toBeGreaterThanOrEqual(xid)
  })

  test.each([99, 60_001, -1])('are not sent every %i ms', async (everyMs) => {
    const { value } = await open().subscribe(CHANGES, { everyMs }).next()
    expect(value.errors[0].extensions).toMatchObject({ code: 'VALIDATION_FAILED', issues: [{ path: 'everyMs' }] })
  })
})

describe('their subjects', () => {
  test('deployments, agents, resubmissions, each when something of it changes', async () => {
    const projectId = await server.factory.project()
    const agentId = await server.factory.agent()
    const stream = open().subscribe(CHANGES, { everyMs: 100 })
    const told = async (kind: keyof Batch, id: string) => {
      for (;;) {
        const batch = await next(stream)
        if ((batch[kind] as string[]).includes(id)) return batch
      }
    }
    const deploymentId = randomUUID()
    let pending = told('deploymentIds', deploymentId)
    await subscribed(1)
    await writeDeploymentEvents(server.db, [{ type: 'deployment.scaled', deploymentId, projectId }])
    server.wake.wake('events')
    await pending

    for (const change of [
      `UPDATE agents SET status = 'DRAINING', drained_at = now() WHERE id = $1`,
      `UPDATE agent_slots SET used = 1 WHERE agent_id = $1 AND slot = 'cpu'`,
    ]) {
      pending = told('agentIds', agentId)
      await server.db.query(change, [agentId])
      await pending
    }
    // Being heard of is no change.
    await server.db.query('UPDATE agents SET last_heard_at = now() WHERE id = $1', [agentId])
    const id = randomUUID()
    pending = told('resubmissionIds', id)
    await resubmission(id, projectId)
    expect((await pending).agentIds).toEqual([])
    pending = told('resubmissionIds', id)
    await server.db.query(`UPDATE resubmissions SET done = 1 WHERE id = $1`, [id])
    await pending
  })

  test('only things of the project of the token', async () => {
    const projectId = await server.factory.project('mine')
    const token = await server.factory.token({ role: 'VIEWER', projectId })
    const after = await eventCursor()
    const [ours, theirs] = [randomUUID(), randomUUID()]
    await resubmission(ours, projectId)
    await resubmission(theirs, await server.factory.project())
    await happen([{ sessionId: theirs }, { sessionId: ours, projectId }])
    await readable()
    const batch = await next(open(token).subscribe(CHANGES, { after }))
    expect(batch).toMatchObject({
      sessionIds: [ours],
      resubmissionIds: [ours],
      bulkActionIds: [ours],
      deploymentIds: [],
    })
    const foreign = await open(token)
      .subscribe(CHANGES, { filter: { project: 'default' } })
      .next()
    expect(foreign.value.errors[0].extensions.code).toBe('PROJECT_NOT_FOUND')
  })

  async function resubmission(id: string, projectId: string) {
    await insertRows(server.db, 'resubmissions', [
      { id, project_id: projectId, client_key: id, request_hash: '', actor: 'ann', overrides: {}, total: 9 },
    ])
  }
})

describe('events with their subjects', () => {
  test('that wait are read together, and come once each and in order', async () => {
    const chains: SessionRow[][] = []
    for (let n = 0; n < 10; n++) chains.push(await server.factory.chain(2, { status: 'RUNNING' }))
    const after = await eventCursor()
    const written = Array.from({ length: 300 }, (_, n) => {
      const { id: sessionId, chainId } = chains[n % 10]![n % 2]!
      return {
        sessionId,
        chainId,
        type: 'session.status_changed' as const,
        data: { from: null, to: 'RUNNING', reason: `${n}` },
      }
    })
    await happen(written)
    const filter = { chainIds: chains.map(([first]) => first!.chainId) }
    const document = `subscription ($filter: SessionEventFilter, $after: String) { sessionEvents(filter: $filter, after: $after) {
      cursor reason sessionId session { id chain { chainId newestAttempt { id status } } } } }`
    const { result, statements } = await recordStatements(() =>
      open().subscribe(document, { filter, after }).take(written.length),
    )
    const events = result.map(({ sessionEvents }) => sessionEvents)
    expect(events.map(({ reason }) => reason)).toEqual(written.map(({ data }) => data.reason))
    expect(events.map(({ sessionId }) => sessionId)).toEqual(written.map(({ sessionId }) => sessionId))
    for (const { session, sessionId } of events)
      expect(Buffer.from(session.id, 'base64').toString()).toContain(sessionId)
    expect(statements.length).toBeLessThan(60)
  })

  test('of some chains, live and from a cursor', async () => {
    const [one, two, other] = [randomUUID(), randomUUID(), randomUUID()]
    const document = `subscription ($filter: SessionEventFilter, $after: String) {
      sessionEvents(filter: $filter, after: $after) { chainId } }`
    const after = await eventCursor()
    const live = open().subscribe(document, { filter: { chainIds: [one, two] } })
    const taken = live.take(2)
    await subscribed(1)
    await happen([other, one, other, two].map((chainId) => ({ sessionId: randomUUID(), chainId })))
    const expected = [{ sessionEvents: { chainId: one } }, { sessionEvents: { chainId: two } }]
    expect(await taken).toEqual(expected)
    expect(
      await open()
        .subscribe(document, { filter: { chainIds: [one, two] }, after })
        .take(2),
    ).toEqual(expected)
    const many = Array.from({ length: 201 }, () => randomUUID())
    const { value } = await open()
      .subscribe(document, { filter: { chainIds: many } })
      .next()
    expect(value.errors[0].extensions.issues).toMatchObject([{ path: 'filter.chainIds' }])
  })
})

describe('nodes', () => {
  const idOf = (type: string, id: string) => Buffer.from(`${type}:${id}`).toString('base64')
  const NODES = `query ($ids: [ID!]!) { nodes(ids: $ids) {
    __typename id ... on Session { name kernels { kernelId } project { name } } ... on Chain { attempts newestAttempt { name } } } }`
  const read = async (ids: string[], token = server.adminToken) => {
    const { data, errors } = await server.query(NODES, { ids }, token)
    expect(errors ?? []).toEqual([])
    return data.nodes as ({ __typename: string; id: string } | null)[]
  }

  test('come in the order of their ids, with null for unknown or foreign ids and for ids of no node', async () => {
    const mine = await server.factory.project()
    const token = await server.factory.token({ role: 'VIEWER', projectId: mine })
    const [session, foreign] = [await server.factory.session({ projectId: mine }), await server.factory.session()]
    const ids = [
      idOf('Chain', session.chainId),
      idOf('Session', foreign.id),
      idOf('Kernel', session.kernelIds[0]!),
      'nonsense',
      idOf('Session', session.id),
      idOf('Session', randomUUID()),
      idOf('Session', 'x'),
      idOf('RetryState', session.id),
      idOf('Nothing', session.id),
      idOf('Chain', foreign.chainId),
      idOf('Project', mine),
      idOf('Session', session.id.toUpperCase()),
    ]
    const nodes = await read(ids, token)
    expect(nodes.map((node) => node?.__typename ?? null)).toEqual([
      'Chain',
      null,
      'Kernel',
      null,
      'Session',
      null,
      null,
      null,
      null,
      null,
      'Project',
      'Session',
    ])
    expect(nodes[4]).toEqual(nodes[11])
    expect(nodes.filter((node) => node !== null).map(({ id }) => id)).toEqual(
      [0, 2, 4, 10, 4].map((place) => ids[place]),
    )
  })

  test('cost as many statements together as one of each', async () => {
    const sessions = []
    for (let n = 0; n < 20; n++) sessions.push(await server.factory.session({ status: 'RUNNING' }))
    const counts = []
    for (const some of [sessions.slice(0, 1), sessions.slice(0, 1), sessions]) {
      const ids = some.flatMap(({ id, chainId }) => [idOf('Session', id), idOf('Chain', chainId)])
      const { result, statements } = await recordStatements(() => read(ids))
      expect(result.filter((node) => node !== null)).toHaveLength(ids.length)
      counts.push(statements.filter((sql) => !/api_tokens|session_events/.test(sql)).length)
    }
    expect(counts[2]).toBe(counts[1])
  })

  test(`are at most ${NODES_MAX}`, async () => {
    const ids = Array.from({ length: NODES_MAX }, () => idOf('Session', randomUUID()))
    expect(await read(ids)).toHaveLength(NODES_MAX)
    const { errors } = await server.query(NODES, { ids: [...ids, ids[0]] })
    expect(errors![0]!.extensions).toMatchObject({ code: 'VALIDATION_FAILED', issues: [{ path: 'ids' }] })
  })
})

test('now is the time of the database, and a payload of a deletion has the id of the deleted node', async () => {
  const { data } = await server.query(`mutation {
    createResourceGroup(input: { name: "gone" }) { ... on CreateResourceGroupPayload { resourceGroup { id } } }
    deleteResourceGroup(input: { name: "gone" }) { ... on DeleteResourceGroupPayload { deletedId } } }`)
  expect(data.createResourceGroup.resourceGroup.id).toBe(data.deleteResourceGroup.deletedId)
  const { rows: before } = await server.db.query<{ now: Date }>('SELECT now()')
  const { now } = (await server.query('{ now }')).data
  const { rows: after } = await server.db.query<{ now: Date }>('SELECT now()')
  expect(new Date(now).getTime()).toBeGreaterThanOrEqual(before[0]!.now.getTime())
  expect(new Date(now).getTime()).toBeLessThanOrEqual(after[0]!.now.getTime())
})
