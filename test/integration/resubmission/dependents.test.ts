/** Resubmission of sessions that were cancelled because a dependency failed. */
import { afterEach, describe, expect, it } from 'vitest'
import { setQuota } from '../../../src/services/quota.ts'
import { resubmitSessions } from '../../../src/services/resubmission/resubmit-sessions.ts'
import { readCancelledDependents } from '../../../src/services/resubmission/resubmissions.ts'
import type { ResubmitSessionsInput } from '../../../src/services/resubmission/resubmission-input.ts'
import type { CreateSessionInput } from '../../../src/services/session/create-session-input.ts'
import { type CreatedSession, createSessions } from '../../../src/services/session/create-sessions.ts'
import { NO_SYNC_POINTS } from '../../../src/observability/sync-points.ts'
import { type Database, openDatabase } from '../../../src/store/database.ts'
import { untilBlocked } from '../../support/database/blocked.ts'
import { chainRows, sessionRow } from '../../support/database/session-rows.ts'
import { syncGates } from '../../support/servers/sync-gates.ts'
import { DEFAULT_PROJECT_ID, testServer } from '../../support/servers/test-server.ts'
import { driveAll, failWith } from '../../support/sessions/drive-session.ts'
import { refusals, resubmissionRow, useResubmission } from '../../support/sessions/resubmission.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'

const given = useScheduling()
const resubmit = useResubmission(given)
const pools: Database[] = []
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.close()))
})

/** A session that runs and fails, or depends on others. */
const create = (...dependsOn: string[]) => given.server.create({ dependsOn })

/** Everything that can run fails, and what depends on it is cancelled. */
async function failAll(): Promise<void> {
  const { server, agent, sql } = given
  await driveAll(server, agent, 'RUNNING')
  await failWith(server, agent, 1)
  for (let round = 0; round < 20; round++) {
    await server.run('schedule-sessions', 'decide-retries')
    const [live] = await sql(`SELECT count(*) AS n FROM sessions WHERE status = 'PENDING' OR NOT retry_decided`)
    if (live!['n'] === 0) return
  }
  throw new Error('something is left')
}

/** b and c depend on a, d on both. */
async function diamond() {
  const a = await create()
  const b = await create(a)
  const c = await create(a)
  const d = await create(b, c)
  return { a, b, c, d }
}

const attempts = async (ids: readonly string[]) =>
  Promise.all(ids.map(async (id) => (await chainRows(given.db, id)).length))

/** Succeeds in whatever can run, until nothing does. */
async function succeedAll(): Promise<string[]> {
  const { server, agent, sql } = given
  const order: string[] = []
  for (let turn = 0; turn < 10; turn++) {
    await driveAll(server, agent, 'RUNNING')
    const running = await sql(`SELECT chain_id FROM sessions WHERE status = 'RUNNING' ORDER BY chain_id`)
    if (running.length === 0) break
    order.push(running.map(({ chain_id: id }) => id as string).join(' '))
    await failWith(server, agent, 0)
  }
  return order
}

async function tryOut(input: ResubmitSessionsInput) {
  const { server, database } = given
  const context = { ...server.context, prisma: database.prisma, sync: NO_SYNC_POINTS }
  const answer = await resubmitSessions(context, { ...input, dryRun: true })
  if (!('dryRun' in answer)) throw new Error('it was done')
  return answer.dryRun
}

describe('a chain that others depended on', () => {
  it('is resubmitted with all of them, and each runs once those before it have succeeded', async () => {
    const { a, b, c, d } = await diamond()
    await failAll()
    expect((await sessionRow(given.db, d)).status).toBe('CANCELLED')
    const dryRun = await tryOut({ sessionIds: [a], includeDependents: true })
    expect(dryRun).toMatchObject({ total: 4, count: 4, cancelledDependents: 3, refusals: [] })
    const shown = await resubmit({ sessionIds: [a], includeDependents: true })
    expect(shown).toMatchObject({ refused: [] })
    expect(shown.sessionIds).toHaveLength(4)
    expect(await attempts([a, b, c, d])).toEqual([2, 2, 2, 2])
    expect(await succeedAll()).toEqual([a, `${b} ${c}`, d])
  })

  it('alone reports how many could come back, also later', async () => {
    const { a, b, d } = await diamond()
    const other = await create()
    await failAll()
    expect(await tryOut({ sessionIds: [a, other] })).toMatchObject({ total: 2, count: 2, cancelledDependents: 3 })
    const { resubmissionId } = await resubmit({ sessionIds: [a, other] })
    expect(await attempts([a, b])).toEqual([2, 1])
    expect(await readCancelledDependents(given.server.context, resubmissionId)).toBe(3)
    // For their sake, although it runs by now.
    const later = await resubmit({ sessionIds: [a], includeDependents: true })
    expect(refusals(later)).toEqual([`SESSION_HAS_CHILD ${a}`])
    expect(await attempts([b, d])).toEqual([2, 2])
    expect(await readCancelledDependents(given.server.context, resubmissionId)).toBe(0)
    expect(await readCancelledDependents(given.server.context, later.resubmissionId)).toBe(0)
  })

  it('has its overrides for itself', async () => {
    const { a, b } = await diamond()
    await failAll()
    await resubmit({ sessionIds: [a], includeDependents: true, overrides: { priority: 77 } })
    const rows = await given.sql('SELECT parent_session_id, priority FROM sessions WHERE parent_session_id = ANY($1)', [
      [a, b],
    ])
    expect(new Map(rows.map((row) => [row['parent_session_id'], row['priority']]))).toEqual(
      new Map([
        [a, 77],
        [b, 10],
      ]),
    )
  })
})

describe('dependents that cannot come back', () => {
  it('because of another failed chain are reported, with those behind them, and return with that chain', async () => {
    const { a, b, c, d } = await diamond()
    const x = await create()
    const both = await create(a, x)
    const behind = await create(both)
    await failAll()
    const input = { sessionIds: [a], includeDependents: true }
    expect(await tryOut(input)).toMatchObject({
      total: 6,
      count: 4,
      refusals: [{ code: 'DEPENDENCY_FAILED', count: 2 }],
    })
    const shown = await resubmit(input)
    expect(refusals(shown)).toEqual([`DEPENDENCY_FAILED ${both}`, `DEPENDENCY_FAILED ${behind}`])
    expect(shown.refused[0]!.message).toBe(`session ${both} depends on session ${x}, whose chain has failed`)
    expect(await attempts([a, b, c, d, both, behind])).toEqual([2, 2, 2, 2, 1, 1])
    const again = await resubmit({ sessionIds: [x], includeDependents: true })
    expect(refusals(again)).toEqual([])
    expect(await attempts([x, both, behind])).toEqual([2, 2, 2])
  })

  it('because of a full quota are reported, with those behind them', async () => {
    const { server } = given
    const { a, b, c, d } = await diamond()
    await failAll()
    await setQuota(server.context, { scope: 'PROJECT', name: 'default', maxPending: 2 })
    const shown = await resubmit({ sessionIds: [a], includeDependents: true })
    expect(refusals(shown)).toEqual([`QUOTA_EXCEEDED ${c}`, `DEPENDENCY_FAILED ${d}`])
    expect(await attempts([a, b, c, d])).toEqual([2, 2, 1, 1])
  })

  it('because somebody cancelled them are left alone, and so are those of other projects', async () => {
    const { sql } = given
    const { a, b, c, d } = await diamond()
    await failAll()
    await sql(
      `UPDATE sessions SET status_data = '{"error": {"name": "user-cancelled", "message": "by ada"}}' WHERE id = $1`,
      [b],
    )
    await sql(`INSERT INTO projects (id, domain_id, name)
      SELECT gen_random_uuid(), domain_id, 'other' FROM projects LIMIT 1`)
    await sql(`UPDATE sessions SET project_id = (SELECT id FROM projects WHERE name = 'other') WHERE id = $1`, [c])
    await sql(`UPDATE chains SET project_id = (SELECT id FROM projects WHERE name = 'other') WHERE chain_id = $1`, [c])
    const viewer = { projectId: DEFAULT_PROJECT_ID, role: 'MEMBER' as const }
    const shown = await resubmit({ sessionIds: [a], includeDependents: true }, { viewer })
    expect(shown).toMatchObject({ refused: [] })
    expect(await attempts([a, b, c, d])).toEqual([2, 1, 1, 1])
  })
})

describe('the choice', () => {
  it('belongs to the request: with the same key it is the same, or a conflict', async () => {
    const { a, b } = await diamond()
    await failAll()
    const input = { sessionIds: [a], clientKey: 'once' }
    const first = await resubmit({ ...input, includeDependents: true })
    expect(await resubmit({ ...input, includeDependents: true })).toEqual(first)
    await expect(resubmit(input)).rejects.toMatchObject({ code: 'CLIENT_KEY_REUSED' })
    expect(await attempts([a, b])).toEqual([2, 2])
  })

  it('of two at once brings each back once', async () => {
    const { db } = given
    const { a, b, c, d } = await diamond()
    await failAll()
    const second = openDatabase({
      connectionString: given.database.connectionString,
      connectionsMax: 3,
      onError: () => {},
    })
    pools.push(second)
    const { sync, gates } = syncGates('resubmit:after-lock')
    const input = { sessionIds: [a], includeDependents: true }
    const one = resubmit(input, { sync })
    await gates['resubmit:after-lock']!.reached
    const other = resubmit(input, { server: testServer(second) })
    await untilBlocked(db, 1)
    gates['resubmit:after-lock']!.open()
    const all = await Promise.all([one, other])
    expect(await attempts([a, b, c, d])).toEqual([2, 2, 2, 2])
    expect(all.map(({ sessionIds }) => sessionIds.length)).toEqual([4, 0])
    expect(refusals(all[1])).toEqual([a, b, c, d].map((id) => `SESSION_HAS_CHILD ${id}`))
  })

  it('continues in batches, dependents after their dependencies', async () => {
    const { server, db } = given
    const root = await create()
    const inputs: CreateSessionInput[] = Array.from({ length: 600 }, () => ({
      name: 'work',
      command: ['true'],
      dependsOn: [root],
    }))
    const made = (await createSessions(server.context, inputs)) as CreatedSession[]
    const last = await create(made.at(-1)!.sessionId)
    await failAll()
    const { resubmissionId } = await resubmit({ sessionIds: [root], includeDependents: true })
    await server.run('resubmit-sessions', 'schedule-sessions', 'resubmit-sessions')
    expect(await resubmissionRow(db, resubmissionId)).toMatchObject({ state: 'COMPLETED', total: 602, done: 602 })
    expect(await attempts([root, made[0]!.sessionId, last])).toEqual([2, 2, 2])
  })
})
