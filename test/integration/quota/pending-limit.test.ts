/** Limits on pending sessions: creation under them, and retries that are held by them. */
import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import { RepriseError } from '../../../src/domain/errors.ts'
import { HELD_RECHECK_MS, HELD_RELEASE_RETRIES_MAX } from '../../../src/domain/limits.ts'
import type { CreateSessionInput } from '../../../src/services/session/create-session-input.ts'
import { createSessions } from '../../../src/services/session/create-sessions.ts'
import type { Viewer } from '../../../src/services/service-context.ts'
import { setQuota, type SetQuotaInput } from '../../../src/services/quota.ts'
import { meetingAt } from '../../support/database/blocked.ts'
import { dueRetries } from '../../support/sessions/due-retries.ts'
import { DEFAULT_DOMAIN_ID } from '../../support/sessions/factories.ts'
import { insertRows } from '../../support/database/insert-rows.ts'
import { recordStatements } from '../../support/database/record-statements.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'
import { decisionRow, events } from '../../support/database/session-rows.ts'
import { testServer } from '../../support/servers/test-server.ts'

const given = useScheduling()
const USER_ID = randomUUID()
const PROJECT = { scope: 'PROJECT', name: 'default' } as const
const DOMAIN = { scope: 'DOMAIN', name: 'default' } as const
const USER = { scope: 'USER', name: 'ulla' } as const

beforeEach(async () => {
  await insertRows(given.db, 'users', [{ id: USER_ID, name: 'ulla' }])
  await insertRows(given.db, 'projects', [{ id: randomUUID(), domain_id: DEFAULT_DOMAIN_ID, name: 'other' }])
})

const limit = (input: SetQuotaInput) => setQuota(given.server.context, input)
const work = (fields: Partial<CreateSessionInput> = {}) => ({ name: 'work', command: ['true'], ...fields })

async function create(count: number, fields: Partial<CreateSessionInput> = {}, viewer: Partial<Viewer> = {}) {
  const { context } = given.server
  const inputs = Array.from({ length: count }, () => work(fields))
  const results = await createSessions({ ...context, viewer: { ...context.viewer, ...viewer } }, inputs)
  return results.map((result) => (result instanceof RepriseError ? `${result.code}: ${result.message}` : 'created'))
}

async function pending(): Promise<number> {
  const [row] = await given.sql(`SELECT count(*) AS count FROM sessions WHERE status = 'PENDING'`)
  return row!['count'] as number
}

async function phases(): Promise<Record<string, number>> {
  const rows = await given.sql(
    `SELECT phase || coalesce(' ' || hold_reason, '') AS phase, count(*) AS count FROM retry_decisions GROUP BY 1`,
  )
  return Object.fromEntries(rows.map(({ phase, count }) => [phase, count]))
}

async function dispatch(): Promise<Record<string, number>> {
  await given.server.run('dispatch-retries')
  return phases()
}

describe('creation under a limit on pending sessions', () => {
  it('fills it to the last place, and refuses the rest one by one with the numbers', async () => {
    await limit({ ...PROJECT, maxPending: 3 })
    const full = 'QUOTA_EXCEEDED: project default has 3 pending sessions, and may have 3'
    await create(2)
    expect(await create(3)).toEqual(['created', full, full])
    expect(await pending()).toBe(3)
    expect(await create(1, { project: 'other' })).toEqual(['created'])
  })

  it('goes by all quotas together: user, project and domain', async () => {
    await limit({ ...USER, maxPending: 1 })
    await limit({ ...DOMAIN, maxPending: 3 })
    const own = { userId: USER_ID, name: 'ulla' }
    expect(await create(2, {}, own)).toEqual([
      'created',
      'QUOTA_EXCEEDED: user ulla has 1 pending sessions, and may have 1',
    ])
    expect(await create(3, { project: 'other' })).toEqual([
      'created',
      'created',
      'QUOTA_EXCEEDED: domain default has 3 pending sessions, and may have 3',
    ])
  })

  it('a scheduled session frees its place, and 0 is a limit', async () => {
    await limit({ ...PROJECT, maxPending: 1 })
    expect(await create(1)).toEqual(['created'])
    await given.server.run('schedule-sessions')
    expect(await create(1)).toEqual(['created'])
    await limit({ ...PROJECT, maxPending: 0 })
    expect((await create(1))[0]).toMatch(/has 1 pending sessions, and may have 0$/)
    await limit({ ...PROJECT, maxPending: null })
    expect(await create(9)).toEqual(Array.from({ length: 9 }, () => 'created'))
  })

  it('a known creation id takes no place, nor does one that is twice in a call', async () => {
    await limit({ ...PROJECT, maxPending: 2 })
    const { context } = given.server
    const [first] = await createSessions(context, [work({ creationId: 'a' })])
    const again = await createSessions(
      context,
      ['a', 'b', 'b', 'a'].map((creationId) => work({ creationId })),
    )
    expect(again).toMatchObject([
      { sessionId: (first as { sessionId: string }).sessionId, created: false },
      { created: true },
      { created: false },
      { created: false },
    ])
    expect(await pending()).toBe(2)
    expect(await createSessions(context, [work({ creationId: 'b' })])).toMatchObject([{ created: false }])
  })

  it('several callers at once never take the same place', async () => {
    await limit({ ...PROJECT, maxPending: 5 })
    const callers = () => Promise.all([create(3), create(3), create(3)])
    const lock = 'SELECT FROM resource_policies FOR UPDATE'
    const results = (await meetingAt(given.db, lock, 3, callers)).flat()
    expect(results.filter((result) => result === 'created')).toHaveLength(5)
    expect(await pending()).toBe(5)
  })

  it('costs nothing where nothing is limited', async () => {
    const statementsOf = async () => (await recordStatements(() => create(2))).statements.length
    const before = await statementsOf()
    await limit({ ...PROJECT, maxRunning: 1 })
    await limit({ ...DOMAIN, slots: [{ slot: 'cpu', amount: '1' }] })
    expect(await statementsOf()).toBe(before)
    expect(await create(2)).toEqual(['created', 'created'])
  })
})

describe('retries under a limit on pending sessions', () => {
  it('are held with one event, and go as places become free, first in, first out', async () => {
    const failed = await dueRetries(given.server.context, { count: 5 })
    await limit({ ...PROJECT, maxPending: 2 })
    expect(await dispatch()).toEqual({ DISPATCHED: 2, 'HELD QUOTA': 3 })
    expect(await dispatch()).toEqual({ DISPATCHED: 2, 'HELD QUOTA': 3 })
    const line = await given.sql(`SELECT session_id FROM retry_decisions WHERE phase = 'HELD' ORDER BY ready_at`)
    const [next] = line.map(({ session_id }) => session_id as string)
    expect(failed).toContain(next)
    expect((await events(given.db, next!)).filter((type) => type === 'session.retry_held')).toHaveLength(1)
    expect(
      await given.sql(
        `SELECT DISTINCT data ->> 'reason' AS reason FROM session_events WHERE type = 'session.retry_held'`,
      ),
    ).toEqual([{ reason: 'held: the limit of pending sessions is reached (project)' }])
    await given.sql(
      `UPDATE sessions SET status = 'RUNNING' WHERE id = (SELECT id FROM sessions WHERE status = 'PENDING' LIMIT 1)`,
    )
    expect(await dispatch()).toEqual({ DISPATCHED: 3, 'HELD QUOTA': 2 })
    expect(await decisionRow(given.db, next!)).toMatchObject({ phase: 'DISPATCHED' })
    await limit({ ...PROJECT, maxPending: null })
    expect(await dispatch()).toEqual({ DISPATCHED: 5 })
  })

  it('are not claimed while no place is free', async () => {
    await dueRetries(given.server.context, { count: 300 })
    await limit({ ...PROJECT, maxPending: 0 })
    await dispatch()
    expect(await given.server.run('dispatch-retries')).toEqual([0])
    const [soonest] = await given.sql(
      `SELECT extract(epoch FROM min(ready_at) - now())::float8 * 1000 AS ms FROM retry_decisions`,
    )
    expect(soonest!['ms']).toBeGreaterThan(HELD_RECHECK_MS - 60_000)
  })

  it('come back in a ramp when the limit is lifted, of every project in turn', async () => {
    const many = HELD_RELEASE_RETRIES_MAX + 50
    await dueRetries(given.server.context, { count: many })
    await dueRetries(given.server.context, { count: 3, project: 'other' })
    await limit({ ...DOMAIN, maxPending: 0 })
    expect(await dispatch()).toEqual({ 'HELD QUOTA': many + 3 })
    await limit({ ...DOMAIN, maxPending: null })
    expect((await dispatch()).DISPATCHED).toBe(HELD_RELEASE_RETRIES_MAX)
    const others = await given.sql(`SELECT d.phase FROM retry_decisions d JOIN projects p ON p.id = d.project_id
      WHERE p.name = 'other'`)
    expect(others).toEqual(Array.from({ length: 3 }, () => ({ phase: 'DISPATCHED' })))
    expect(await dispatch()).toEqual({ DISPATCHED: many + 3 })
  })

  it('of a user whose limit is full do not block others', async () => {
    const context = { ...given.server.context, viewer: { ...given.server.context.viewer, userId: USER_ID } }
    await dueRetries(context, { count: HELD_RELEASE_RETRIES_MAX + 10 })
    await dueRetries(given.server.context, { count: 2 })
    await limit({ ...USER, maxPending: 0 })
    await limit({ ...PROJECT, maxPending: 0 })
    await dispatch()
    await limit({ ...PROJECT, maxPending: 5 })
    expect(await dispatch()).toEqual({ DISPATCHED: 2, 'HELD QUOTA': HELD_RELEASE_RETRIES_MAX + 10 })
  })

  it('and creations at the same moment, with two servers, never take the same place', async () => {
    await dueRetries(given.server.context, { count: 3 })
    await limit({ ...PROJECT, maxPending: 2 })
    const another = testServer(given.db)
    const all = () => Promise.all([given.server.run('dispatch-retries'), another.run('dispatch-retries'), create(2)])
    await meetingAt(given.db, 'SELECT FROM resource_policies FOR UPDATE', 2, all)
    expect(await pending()).toBe(2)
  })

  it('that wait out a backoff take no place', async () => {
    await dueRetries(given.server.context, { count: 1 })
    await given.sql(
      `UPDATE retry_decisions SET due_at = now() + interval '1 hour', ready_at = now() + interval '1 hour'`,
    )
    await limit({ ...PROJECT, maxPending: 1 })
    expect(await create(1)).toEqual(['created'])
  })
})
