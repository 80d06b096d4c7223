/** Retention removes old rows, and keeps those that others still need. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { compareCursors, decodeCursor } from '../../src/domain/events.ts'
import { eventually } from '../support/eventually.ts'
import type { RetentionPolicy } from '../../src/scheduler/retention-service.ts'
import { startGraphQLServer, type TestServer } from '../support/servers/graphql-server.ts'
import { connect } from '../support/servers/graphql-stream.ts'
import { removeOlder } from '../support/sessions/remove-older.ts'

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())

beforeEach(async () => {
  await server.db.query(
    'TRUNCATE deployments, sessions, session_events, kernel_logs, audit_log, scheduling_history, resubmission_items, resubmissions CASCADE',
  )
  await server.db.query(`UPDATE settings SET value = '{"xid": "0", "id": "0"}' WHERE key = 'events.removed-through'`)
})

const keep = (what: Partial<Record<keyof RetentionPolicy, string>>) => removeOlder(server.db, what)

async function count(table: string): Promise<number> {
  return (await server.db.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${table}`)).rows[0]!.n
}

/** Moves the last activity of the session so far into the past. */
async function age(chainId: string, days: number): Promise<void> {
  await server.db.query(
    `UPDATE chains SET newest_activity_at = now() - make_interval(days => $2) WHERE chain_id = $1`,
    [chainId, days],
  )
}

async function chainIds(): Promise<string[]> {
  return (await server.db.query<{ id: string }>('SELECT chain_id AS id FROM chains ORDER BY chain_id')).rows.map(
    ({ id }) => id,
  )
}

describe('deployments', () => {
  test('that were destroyed go when their last session has gone, with their history', async () => {
    const old = new Date(Date.now() - 91 * 86_400_000)
    const gone = await server.factory.deployment({ status: 'DESTROYED', createdAt: old })
    const route = await server.factory.route(gone, { status: 'TERMINATED' })
    const young = await server.factory.deployment({ status: 'DESTROYED' })
    const living = await server.factory.deployment({ createdAt: old })
    const ended = await server.factory.route(living, { status: 'TERMINATED' })
    const ending = await server.factory.route(living, { status: 'TERMINATED' })
    await server.db.query(`UPDATE routes SET status = 'TERMINATING', terminated_at = NULL WHERE id = '${ending.id}'`)
    const entities = [gone, route, young, living, ended, ending].map(({ id }) => id)
    await server.db.query(
      `INSERT INTO scheduling_history (entity, entity_id, phase, result)
       SELECT 'ROUTE', unnest($1::uuid[]), 'p', 'SUCCESS'`,
      [entities],
    )
    for (const { session } of [route, ended, ending]) await age(session.chainId, 91)
    expect(await keep({ chains: '90d' })).toEqual({ done: 3 })
    const left = async (sql: string) => (await server.db.query<{ id: string }>(sql)).rows.map(({ id }) => id).toSorted()
    expect(await left('SELECT id FROM deployments')).toEqual([young.id, living.id].toSorted())
    expect(await left('SELECT id FROM routes')).toEqual([ending.id])
    expect(await left('SELECT entity_id AS id FROM scheduling_history')).toEqual(
      [young.id, living.id, ending.id].toSorted(),
    )
  })
})

describe('deployments that live', () => {
  const OLD = `now() - interval '91 days'`

  test('keep revisions that were theirs lately, and those of routes that are there', async () => {
    const { id, projectId, name } = await server.factory.deployment()
    const first = await server.factory.route({ id, projectId, name })
    await server.db.query(
      `INSERT INTO deployment_revisions SELECT (jsonb_populate_record(v, jsonb_build_object('revision', n))).*
       FROM deployment_revisions v, generate_series(2, 5) AS n WHERE deployment_id = $1`,
      [id],
    )
    await server.db.query('UPDATE deployments SET revision = 5 WHERE id = $1', [id])
    // The third was replaced lately, by the fourth.
    await server.db.query(
      `UPDATE deployment_revisions SET created_at = ${OLD} WHERE deployment_id = $1 AND revision <= 3`,
      [id],
    )
    const left = async () => {
      const statement = 'SELECT revision FROM deployment_revisions WHERE deployment_id = $1 ORDER BY revision'
      return (await server.db.query<{ revision: number }>(statement, [id])).rows.map(({ revision }) => revision)
    }
    expect(await keep({ chains: '90d' })).toEqual({ done: 1 })
    expect(await left()).toEqual([1, 3, 4, 5])
    await server.db.query('DELETE FROM routes WHERE id = $1', [first.id])
    expect(await keep({ chains: '90d' })).toEqual({ done: 1 })
    expect(await left()).toEqual([3, 4, 5])
  })

  test('lose their old history', async () => {
    const { id } = await server.factory.deployment()
    await server.db.query(
      `INSERT INTO scheduling_history (entity, entity_id, phase, result, last_at)
       SELECT 'DEPLOYMENT', $1, 'p', 'SUCCESS', at FROM unnest(ARRAY[${OLD}, ${OLD}, now()]) AS at`,
      [id],
    )
    expect(await keep({ chains: '90d' })).toEqual({ done: 2 })
    expect(await count('scheduling_history')).toBe(1)
  })
})

describe('agents', () => {
  async function goneFor(days: number, sets = `status = 'LOST'`): Promise<string> {
    const id = await server.factory.agent()
    await server.db.query(
      `UPDATE agents SET ${sets}, last_heard_at = now() - make_interval(days => $2), lease_from = now() - interval '1 year'
       WHERE id = $1`,
      [id, days],
    )
    return id
  }

  test('that are gone for long go when no session of their time is left', async () => {
    const { kernelIds, chainId } = await server.factory.session({ status: 'TERMINATED' })
    await server.db.query(`UPDATE sessions SET created_at = now() - interval '200 days'`)
    const ran = await goneFor(199)
    await server.db.query('UPDATE kernels SET agent_id = $2 WHERE id = $1', [kernelIds[0], ran])
    const before = await goneFor(201)
    const stay = [
      await goneFor(89),
      await goneFor(201, `status = 'LOST', drained_at = now()`),
      await goneFor(201, `status = 'ALIVE'`),
    ]
    expect(await keep({ chains: '90d' })).toEqual({ done: 1 })
    const left = async () => {
      const statement = 'SELECT id FROM agents WHERE id = ANY($1)'
      const all = [ran, before, ...stay]
      return (await server.db.query<{ id: string }>(statement, [all])).rows.map(({ id }) => id).toSorted()
    }
    expect(await left()).toEqual([ran, ...stay].toSorted())
    await age(chainId, 199)
    expect(await keep({ chains: '90d' })).toEqual({ done: 2 })
    expect(await left()).toEqual(stay.toSorted())
    await server.db.query('DELETE FROM agents WHERE id = ANY($1)', [stay])
  })
})

describe('resubmissions without a child', () => {
  async function resubmission(items: readonly { sessionId: string; code: string }[], finishedDaysAgo: number) {
    const id = randomUUID()
    await server.db.query(
      `INSERT INTO resubmissions (id, client_key, request_hash, actor, overrides, total, refused, state, finished_at)
       VALUES ($1::uuid, $1::text, '', 'ada', '{}', $2, $2, 'COMPLETED', now() - make_interval(days => $3))`,
      [id, items.length, finishedDaysAgo],
    )
    await server.db.query(
      `INSERT INTO resubmission_items (resubmission_id, position, session_id, status, code, message)
       SELECT $1, place - 1, session_id, 'REFUSED', code, code
       FROM unnest($2::uuid[], $3::text[]) WITH ORDINALITY AS i(session_id, code, place)`,
      [id, items.map(({ sessionId }) => sessionId), items.map(({ code }) => code)],
    )
    return id
  }

  test('go when they are old and the sessions that they name have gone', async () => {
    const { id: sessionId, chainId } = await server.factory.session({ status: 'TERMINATED' })
    const refused = { sessionId, code: 'SESSION_NOT_FAILED' }
    const unknown = { sessionId: randomUUID(), code: 'SESSION_NOT_FOUND' }
    const young = await resubmission([unknown], 89)
    await resubmission([unknown], 91)
    const both = await resubmission([unknown, refused], 91)
    expect(await keep({ chains: '90d' })).toEqual({ done: 2 })
    const left = async () =>
      (await server.db.query<{ id: string }>('SELECT id FROM resubmissions')).rows.map(({ id }) => id)
    expect((await left()).toSorted()).toEqual([young, both].toSorted())
    await age(chainId, 91)
    // The chain, and what was refused of it.
    expect(await keep({ chains: '90d' })).toEqual({ done: 2 })
    expect(await left()).toEqual([young])
    expect(await count('resubmission_items')).toBe(1)
  })

  test('stay while a child is there', async () => {
    const [parent, child] = await server.factory.chain(2, { status: 'TERMINATED' })
    const id = await resubmission([{ sessionId: randomUUID(), code: 'SESSION_NOT_FOUND' }], 91)
    await server.db.query(
      `INSERT INTO resubmission_items (resubmission_id, position, session_id, status, child_session_id)
       VALUES ($1, 1, $2, 'DONE', $3)`,
      [id, parent!.id, child!.id],
    )
    expect(await keep({ chains: '90d' })).toEqual({ done: 0 })
    await age(parent!.chainId, 91)
    expect(await keep({ chains: '90d' })).toEqual({ done: 2 })
    expect(await count('resubmissions')).toBe(0)
  })
})

describe('chains', () => {
  test('go whole, with everything that belongs to them', async () => {
    const old = await server.factory.chain(3, { status: 'TERMINATED' })
    const young = await server.factory.chain(2, { status: 'TERMINATED' })
    for (const { kernelIds } of [...old, ...young]) {
      await server.factory.log(kernelIds[0]!, 'hello')
      await server.db.query(
        `INSERT INTO scheduling_history (entity, entity_id, phase, result) VALUES ('KERNEL', $1, 'p', 'SUCCESS')`,
        [kernelIds[0]],
      )
    }
    await age(old[0]!.chainId, 91)
    await age(young[0]!.chainId, 89)
    expect(await keep({ chains: '90d' })).toEqual({ done: 1 })
    expect(await chainIds()).toEqual([young[0]!.chainId])
    for (const table of ['sessions', 'kernels', 'retry_decisions', 'kernel_logs', 'scheduling_history']) {
      expect([table, await count(table)]).toEqual([table, 2])
    }
  })

  test('that are too many are removed, the oldest first, in each project separately', async () => {
    const other = await server.factory.project()
    const ours = []
    for (let n = 0; n < 4; n++) ours.push(await server.factory.session({ status: 'TERMINATED' }))
    for (const [n, { chainId }] of ours.entries()) await age(chainId, 10 - n)
    const theirs = await server.factory.session({ status: 'TERMINATED', projectId: other })
    await age(theirs.chainId, 50)
    expect(await keep({ chains: '2' })).toEqual({ done: 2 })
    expect(await chainIds()).toEqual([...ours.slice(2), theirs].map(({ chainId }) => chainId).toSorted())
    expect(await keep({ chains: '0' })).toEqual({ done: 3 })
  })

  test.each(['RUNNING', 'PENDING', 'TERMINATING'] as const)('stay while they are %s', async (status) => {
    const { chainId } = await server.factory.session({ status })
    await age(chainId, 500)
    expect(await keep({ chains: '1d,0' })).toEqual({ done: 0 })
  })

  test('stay while they may be retried', async () => {
    for (const phase of ['SCHEDULED', 'HELD', null] as const) {
      const { chainId } = await server.factory.session({ status: 'ERROR', phase, retryPolicy: { maxRetries: 1 } })
      await age(chainId, 500)
    }
    expect(await keep({ chains: '1d,0' })).toEqual({ done: 0 })
  })

  test('stay while a session waits for them', async () => {
    const needed = await server.factory.session({ status: 'TERMINATED' })
    const waiting = await server.factory.session({ status: 'PENDING' })
    await server.db.query('INSERT INTO session_dependencies VALUES ($1, $2)', [waiting.id, needed.chainId])
    await age(needed.chainId, 500)
    expect(await keep({ chains: '1d' })).toEqual({ done: 0 })
    await server.db.query('DELETE FROM session_dependencies')
    expect(await keep({ chains: '1d' })).toEqual({ done: 1 })
  })

  test('stay while a kernel of theirs may still run on a silent agent', async () => {
    const { chainId, kernelIds } = await server.factory.session({ status: 'TERMINATED' })
    await age(chainId, 500)
    await server.db.query('UPDATE kernels SET confirmed_gone = false WHERE id = $1', [kernelIds[0]])
    expect(await keep({ chains: '1d' })).toEqual({ done: 0 })
    await server.db.query('UPDATE kernels SET confirmed_gone = true WHERE id = $1', [kernelIds[0]])
    expect(await keep({ chains: '1d' })).toEqual({ done: 1 })
  })

  test('stay while there are events of their time', async () => {
    const { id, chainId, projectId } = await server.factory.session({ status: 'TERMINATED' })
    await age(chainId, 40)
    await server.db.query('DELETE FROM session_events')
    await server.db.query(
      `INSERT INTO session_events (type, session_id, chain_id, project_id, occurred_at)
       VALUES ('session.created', $1, $2, $3, now() - interval '41 days')`,
      [id, chainId, projectId],
    )
    expect(await keep({ chains: '30d' })).toEqual({ done: 0 })
    expect(await keep({ events: '30d', chains: '30d' })).toEqual({ done: 2 })
  })

  test('go in batches of a bounded size until none is left', async () => {
    await server.db
      .query(`INSERT INTO sessions (id, project_id, resource_group, creation_id, name, session_type, command,
        cluster_mode, cluster_size, priority, status, result, chain_id, attempt, retry_policy, retry_decided, terminated_at)
      SELECT id, (SELECT id FROM projects LIMIT 1), 'default', id::text, 'n', 'INTERACTIVE', '{}', 'SINGLE_NODE', 1, 10,
        'TERMINATED', 'SUCCESS', id, 1, '{}', true, now() FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, 450)) AS s`)
    expect(await keep({ chains: '0' })).toEqual({ done: 450 })
    expect(await count('sessions')).toBe(0)
  })
})

describe('events', () => {
  async function events(daysAgo: number[]): Promise<void> {
    for (const days of daysAgo) {
      await server.db.query(
        `INSERT INTO session_events (type, session_id, chain_id, project_id, occurred_at)
         VALUES ('session.created', $1, $1, (SELECT id FROM projects LIMIT 1), now() - make_interval(days => $2))`,
        [randomUUID(), days],
      )
    }
  }

  test('that are too old, or too many, are removed from the front', async () => {
    await events([40, 31, 29, 2, 1])
    expect(await keep({ events: '30d' })).toEqual({ done: 2 })
    expect(await count('session_events')).toBe(3)
    expect(await keep({ events: '30d,1' })).toEqual({ done: 2 })
    expect(await count('session_events')).toBe(1)
  })

  test('that a webhook has not seen yet stay', async () => {
    await events([40, 39])
    await server.db.query(
      `INSERT INTO webhooks (id, url, event_types, secret) VALUES (gen_random_uuid(), 'https://example.com', '{*}', $1)`,
      [Buffer.alloc(32)],
    )
    expect(await keep({ events: '30d' })).toEqual({ done: 0 })
    await server.db.query('TRUNCATE webhooks CASCADE')
    expect(await keep({ events: '30d' })).toEqual({ done: 2 })
  })

  // A long transaction of any database of the server holds back what followers see.
  test('are missed aloud by who follows them with an older cursor', async () => {
    await events([40, 35, 1])
    const { rows } = await server.db.query<{ cursor: string }>(
      `SELECT encode(convert_to(xid::text || ':' || id::text, 'UTF8'), 'base64') AS cursor FROM session_events ORDER BY xid, id`,
    )
    const [first, second, third] = rows.map(({ cursor }) => cursor.replaceAll('=', ''))
    server.wake.wake('events')
    await eventually(() => compareCursors(server.bus.position, decodeCursor(third!)!) >= 0)
    await keep({ events: '30d' })
    // As a server that has begun since, which has none of them in memory.
    server.bus.forgetPublished()
    const connection = connect(server.url, server.adminToken)
    const text = 'subscription ($after: String) { sessionEvents(after: $after) { cursor } }'
    const { value } = await connection.subscribe(text, { after: first }).next()
    expect(value.errors[0].extensions.code).toBe('CURSOR_EXPIRED')
    expect(value.errors[0].message).toContain(second)
    expect(decodeCursor(second!)).toBeDefined()
    expect(await connection.subscribe(text, { after: second }).take(1)).toHaveLength(1)
    await connection.close()
  })

  test('are missed aloud by who follows them live, if they go before its server has read them', async () => {
    const connection = connect(server.url, server.adminToken)
    const overWebSocket = connection.subscribe('subscription { sessionEvents { cursor } }').take(1)
    const headers = { authorization: `Bearer ${server.adminToken}`, accept: 'text/event-stream' }
    const ownEvents = await fetch(`${server.url}/v2/events`, { headers })
    const ended = overWebSocket.catch((errors: unknown) => errors)
    await eventually(() => server.bus.subscribers === 2)
    await server.db.transaction(async (tx) => {
      // Holds back what followers see.
      await tx.query('SELECT pg_current_xact_id()')
      await events([40, 35, 1])
      expect(await keep({ events: '30d' })).toEqual({ done: 2 })
    })
    server.wake.wake('events')
    expect(await ended).toMatchObject([{ extensions: { code: 'CURSOR_EXPIRED' } }])
    expect(await ownEvents.text()).toContain('CURSOR_EXPIRED')
    await connection.close()
  })
})

test('logs, the audit log and the history of agents have their own ages', async () => {
  const { kernelIds } = await server.factory.session({ status: 'TERMINATED' })
  for (let n = 0; n < 3; n++) await server.factory.log(kernelIds[0]!, `line ${n}`)
  await server.db.query(
    `UPDATE kernel_logs SET at = now() - interval '100 days' WHERE id = (SELECT min(id) FROM kernel_logs)`,
  )
  await server.db.query(
    `INSERT INTO audit_log (at, actor, action) SELECT now() - make_interval(days => n), 'a', 'b' FROM generate_series(500, 0, -100) AS n`,
  )
  await server.db.query(
    `INSERT INTO scheduling_history (entity, entity_id, phase, result, last_at)
    SELECT 'AGENT', $1, 'p', 'SUCCESS', now() - make_interval(days => n) FROM generate_series(200, 0, -50) AS n`,
    [randomUUID()],
  )
  await keep({ logs: '90d', audit: '400d', agentHistory: '90d' })
  expect([await count('kernel_logs'), await count('audit_log'), await count('scheduling_history')]).toEqual([2, 4, 2])
  await keep({ logs: '1', audit: '3', agentHistory: '1' })
  expect([await count('kernel_logs'), await count('audit_log'), await count('scheduling_history')]).toEqual([1, 3, 1])
})
