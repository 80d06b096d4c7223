/** Runs of schedules: their maker, number and rights, and the records of missed ones. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { removeOldScheduleRuns } from '../../src/store/sql/retention.sql.ts'
import {
  deleteSchedule,
  pauseSchedule,
  resumeSchedule,
  updateSchedule,
} from '../../src/services/schedule/change-schedule.ts'
import { runScheduleNow } from '../../src/services/schedule/run-schedule-now.ts'
import { setQuota } from '../../src/services/quota.ts'
import type { Viewer } from '../../src/services/service-context.ts'
import { insertToken } from '../../src/store/sql/access/tokens.sql.ts'
import { readLastRuns } from '../../src/store/sql/schedule/schedule-runs.sql.ts'
import { testDatabase, type TestDatabase } from '../support/database/database.ts'
import { chainsOf, makeDue, outcomes, scheduleServer } from '../support/servers/schedule-server.ts'
import { DEFAULT_PROJECT_ID } from '../support/servers/test-server.ts'

let database: TestDatabase
let server: Awaited<ReturnType<typeof scheduleServer>>

beforeAll(async () => {
  database = await testDatabase()
})
afterAll(() => database.close())
beforeEach(async () => {
  await database.fresh()
  server = await scheduleServer(database.db)
})

const row = async (id: string) =>
  (await database.db.query<Record<string, any>>('SELECT *, due_at > now() AS ahead FROM schedules WHERE id = $1', [id]))
    .rows[0]!

/** Ends the live session of a schedule, as its agent would. */
async function endRun(id: string): Promise<void> {
  const { id: sessionId } = (await chainsOf(database.db, id)).find(({ state }) => state === 'LIVE')!
  await database.db.query(
    `UPDATE sessions SET status = 'TERMINATED', result = 'SUCCESS', terminated_at = now() WHERE id = $1`,
    [sessionId],
  )
  await database.db.query(`UPDATE kernels SET status = 'TERMINATED', terminated_at = now() WHERE session_id = $1`, [
    sessionId,
  ])
  await server.run('decide-retries')
}

test('a run that is due is a chain with its own retry policy, tied to the schedule', async () => {
  const session = {
    name: 'report',
    command: ['sh', '-c', 'exit 3'],
    environ: [{ name: 'KIND', value: 'daily' }],
    secretEnviron: [{ name: 'PASSWORD', value: 'hidden' }],
    retryPolicy: { maxRetries: 4 },
  }
  const id = await server.schedule({ session })
  expect(await server.runSchedules()).toBe(0)
  await makeDue(database.db, id)
  expect(await server.runSchedules()).toBe(1)
  const [chain] = await chainsOf(database.db, id)
  const { rows } = await database.db.query<Record<string, any>>('SELECT * FROM sessions WHERE id = $1', [chain!.id])
  expect(rows[0]).toMatchObject({
    name: 'report',
    command: ['sh', '-c', 'exit 3'],
    environ: [{ name: 'KIND', value: 'daily' }],
    max_retries: 4,
    created_by: 'ada',
    status: 'PENDING',
  })
  expect(rows[0]!.secret_environ).toEqual([expect.objectContaining({ name: 'PASSWORD' })])
  const stored = await row(id)
  expect(JSON.stringify(stored.template)).not.toContain('hidden')
  expect(stored).toMatchObject({ ahead: true, queued: 0, status_reason: null })
  expect(await outcomes(database.db, id)).toEqual(['STARTED'])
  const audit = await database.db.query<{ action: string }>('SELECT action FROM audit_log ORDER BY id')
  expect(audit.rows.map(({ action }) => action)).toEqual(['schedule.create', 'session.create'])
})

test('several servers make each of many runs once', async () => {
  const ids: string[] = []
  for (let index = 0; index < 30; index++) ids.push(await server.schedule({ overlap: 'QUEUE' }))
  const others = [server, ...(await Promise.all([scheduleServer(database.db), scheduleServer(database.db)]))]
  for (let round = 1; round <= 3; round++) {
    for (const id of ids) await makeDue(database.db, id, 3 - round)
    await Promise.all(others.flatMap((each) => [each.runSchedules(), each.runSchedules()]))
  }
  const { rows } = await database.db.query<{ runs: number; sessions: number; chains: number; queued: number }>(
    `SELECT (SELECT count(*) FROM schedule_runs) AS runs, (SELECT count(*) FROM sessions) AS sessions,
       (SELECT count(*) FROM chains WHERE schedule_id IS NOT NULL) AS chains,
       (SELECT sum(queued) FROM schedules)::int AS queued`,
  )
  expect(rows[0]).toEqual({ runs: 90, sessions: 30, chains: 30, queued: 60 })
})

test('a planned time that comes again is not made again', async () => {
  const id = await server.schedule({ overlap: 'QUEUE' })
  await makeDue(database.db, id)
  const { planned_at: plannedAt } = await row(id)
  await server.runSchedules()
  // The state after the clock of the database went back.
  await database.db.query('UPDATE schedules SET planned_at = $2, due_at = $2 WHERE id = $1', [id, plannedAt])
  await server.runSchedules()
  expect(await outcomes(database.db, id)).toEqual(['STARTED'])
  // Nor do runs that are missed from then on stand in its place.
  await database.db.query(`UPDATE schedule_runs SET planned_at = planned_at - interval '3 days'`)
  await database.db.query(
    `UPDATE schedules SET cron = '* * * * *', catch_up = 0, planned_at = $2::timestamptz - interval '3 days',
       due_at = $2::timestamptz - interval '3 days' WHERE id = $1`,
    [id, plannedAt],
  )
  await server.runSchedules()
  expect((await outcomes(database.db, id)).map((outcome) => outcome.replace(/^\d+ /, ''))).toContain('MISSED')
})

test('after a downtime the last missed runs are made, the others are one record', async () => {
  const id = await server.schedule({ cron: '* * * * *', catchUp: 2, overlap: 'QUEUE' })
  await database.db.query(
    `UPDATE schedules SET planned_at = at, due_at = at
     FROM (SELECT date_trunc('minute', now() - interval '20 minutes') AS at) AS t WHERE id = $1`,
    [id],
  )
  await server.runSchedules()
  const found = await outcomes(database.db, id)
  // The run of this minute and perhaps of the one before is not late.
  expect(found[0]).toMatch(/^1[678] MISSED$/)
  expect(found[1]).toBe('STARTED')
  expect(found.slice(2).every((outcome) => outcome === 'QUEUED')).toBe(true)
  expect([3, 4]).toContain(found.length - 1)
})

describe('overlap', () => {
  test('SKIP: no run is made while a chain of the schedule is active, and skipped runs are counted', async () => {
    const id = await server.schedule()
    for (const secondsAgo of [5, 4, 3]) {
      await makeDue(database.db, id, secondsAgo)
      await server.runSchedules()
    }
    const skipped = await outcomes(database.db, id)
    expect(skipped[0]).toBe('STARTED')
    expect(skipped.slice(1)).toEqual([expect.stringMatching(/SKIPPED$/)])
    await endRun(id)
    await makeDue(database.db, id)
    await server.runSchedules()
    expect((await outcomes(database.db, id)).at(-1)).toBe('STARTED')
    expect(await chainsOf(database.db, id)).toHaveLength(2)
  })

  test('a chain that waits for its retry is active', async () => {
    const session = { name: 'report', command: ['false'], retryPolicy: { maxRetries: 3, retryDelay: 3600 } }
    const id = await server.schedule({ session })
    await makeDue(database.db, id, 2)
    await server.runSchedules()
    const [chain] = await chainsOf(database.db, id)
    await database.db.query(
      `UPDATE sessions SET status = 'ERROR', result = 'FAILURE', status_data = '{"error": {"name": "kernel-exited", "message": "exit 3"}}', exit_code = 3,
         terminated_at = now() WHERE id = $1`,
      [chain!.id],
    )
    await server.run('decide-retries')
    expect((await chainsOf(database.db, id))[0]!.state).toBe('WAITING_RETRY')
    await makeDue(database.db, id)
    await server.runSchedules()
    expect(await outcomes(database.db, id)).toEqual(['STARTED', 'SKIPPED'])
  })

  test('QUEUE: runs wait, and start one after the other', async () => {
    const id = await server.schedule({ overlap: 'QUEUE' })
    for (const secondsAgo of [9, 8, 7]) {
      await makeDue(database.db, id, secondsAgo)
      await server.runSchedules()
    }
    expect(await outcomes(database.db, id)).toEqual(['STARTED', 'QUEUED', 'QUEUED'])
    expect(await server.runSchedules()).toBe(0)
    await endRun(id)
    await server.runSchedules()
    expect(await outcomes(database.db, id)).toEqual(['STARTED', 'STARTED', 'QUEUED'])
    expect((await row(id)).queued).toBe(1)
    await endRun(id)
    await server.runSchedules()
    expect(await outcomes(database.db, id)).toEqual(['STARTED', 'STARTED', 'STARTED'])
    expect((await row(id)).queued).toBe(0)
  })

  test('CANCEL_OTHER: the active chain is ended, then the newest run starts', async () => {
    const id = await server.schedule({ overlap: 'CANCEL_OTHER' })
    for (const secondsAgo of [9, 8]) {
      await makeDue(database.db, id, secondsAgo)
      await server.runSchedules()
    }
    await server.run('decide-retries')
    await server.runSchedules()
    const chains = await chainsOf(database.db, id)
    expect(chains.map(({ state }) => state)).toEqual(['CANCELLED', 'LIVE'])
    expect(await outcomes(database.db, id)).toEqual(['STARTED', 'STARTED'])
    const { rows } = await database.db.query<Record<string, any>>('SELECT * FROM sessions WHERE id = $1', [
      chains[0]!.id,
    ])
    expect(rows[0]!.status_reason).toMatch(/^a later run of schedule nightly-\w+ takes its place$/)
  })

  test('CANCEL_OTHER: a chain that waits for its retry loses it', async () => {
    const session = { name: 'report', command: ['false'], retryPolicy: { maxRetries: 3, retryDelay: 3600 } }
    const id = await server.schedule({ session, overlap: 'CANCEL_OTHER' })
    await makeDue(database.db, id, 9)
    await server.runSchedules()
    const [chain] = await chainsOf(database.db, id)
    await database.db.query(
      `UPDATE sessions SET status = 'ERROR', result = 'FAILURE', status_data = '{"error": {"name": "kernel-exited", "message": "exit 3"}}', exit_code = 3,
         terminated_at = now() WHERE id = $1`,
      [chain!.id],
    )
    await server.run('decide-retries')
    await makeDue(database.db, id, 8)
    await server.runSchedules()
    const states = (await chainsOf(database.db, id)).map(({ state }) => state)
    expect(states).toEqual(['CANCELLED', 'LIVE'])
  })
})

describe('a person', () => {
  test('pauses it: no run is made, and a resume continues from now', async () => {
    const id = await server.schedule()
    await pauseSchedule(server.context, { scheduleId: id, reason: 'holidays' })
    await makeDue(database.db, id, 600)
    expect(await server.runSchedules()).toBe(0)
    expect(await row(id)).toMatchObject({ paused_by: 'ada', pause_reason: 'holidays' })
    await resumeSchedule(server.context, { scheduleId: id })
    expect(await row(id)).toMatchObject({ paused_at: null, pause_reason: null, ahead: true })
    expect(await server.runSchedules()).toBe(0)
    expect(await outcomes(database.db, id)).toEqual([])
  })

  test('resumes one that was not paused: a due run stays due', async () => {
    const id = await server.schedule()
    await makeDue(database.db, id, 5)
    await resumeSchedule(server.context, { scheduleId: id })
    const { planned_at: plannedAt } = await row(id)
    // Only a time of its expression can be planned.
    expect(plannedAt.getUTCHours()).toBe(3)
  })

  test('changes when it runs', async () => {
    const id = await server.schedule()
    await updateSchedule(server.context, { scheduleId: id, every: 30, jitter: 5, overlap: 'QUEUE' })
    const changed = await row(id)
    expect(changed).toMatchObject({ cron: null, every: 30, jitter: 5, overlap: 'QUEUE', catch_up: 1 })
    expect(changed.planned_at.getTime() - changed.anchor_at.getTime()).toBe(30_000)
    const delay = changed.due_at.getTime() - changed.planned_at.getTime()
    expect(delay).toBeGreaterThanOrEqual(0)
    expect(delay).toBeLessThanOrEqual(5_000)
    await expect(updateSchedule(server.context, { scheduleId: id, jitter: 40 })).rejects.toThrow('jitter')
    await expect(updateSchedule(server.context, { scheduleId: id, cron: '* * * * *', every: 5 })).rejects.toThrow(
      'cron',
    )
  })

  test('asks for a run now, which overlaps like any other, also while it is paused', async () => {
    const id = await server.schedule({ paused: true, overlap: 'QUEUE' })
    const first = await runScheduleNow(server.context, { scheduleId: id })
    const second = await runScheduleNow(server.context, { scheduleId: id })
    const runs = await readLastRuns(database.db, [id], 10)
    expect(runs.map((run) => [run.id, run.outcome, run.askedBy])).toEqual([
      [second.run.id, 'QUEUED', 'ada'],
      [first.run.id, 'STARTED', 'ada'],
    ])
    expect((await row(id)).paused_at).not.toBeNull()
  })

  test('asks for a run once, however often the request with its key is repeated', async () => {
    const id = await server.schedule({ overlap: 'QUEUE' })
    const ask = (clientKey: string) => runScheduleNow(server.context, { scheduleId: id, clientKey })
    const made = await Promise.all([ask('one'), ask('one'), ask('one')])
    expect(made.map(({ created }) => created).toSorted((a, b) => Number(a) - Number(b))).toEqual([false, false, true])
    expect(new Set(made.map(({ run }) => run.id)).size).toBe(1)
    expect(await ask('one')).toMatchObject({ created: false, run: { outcome: 'STARTED', askedBy: 'ada' } })
    expect((await ask('two')).created).toBe(true)
    expect(await readLastRuns(database.db, [id], 10)).toHaveLength(2)
    const entries = await database.db.query(`SELECT FROM audit_log WHERE action = 'schedule.run'`)
    expect(entries.rowCount).toBe(2)
  })

  test('deletes it: its chains stay', async () => {
    const id = await server.schedule()
    await makeDue(database.db, id)
    await server.runSchedules()
    await deleteSchedule(server.context, { scheduleId: id })
    const { rows } = await database.db.query<{ n: number }>(
      'SELECT count(*) AS n FROM chains WHERE schedule_id IS NULL',
    )
    expect(rows[0]!.n).toBe(1)
    await expect(deleteSchedule(server.context, { scheduleId: id })).rejects.toThrow('no schedule')
  })
})

describe('a run is refused, with an event', () => {
  const MEMBER: Viewer = {
    tokenId: '00000000-0000-7000-8000-00000000beef',
    userId: null,
    name: 'ci',
    role: 'MEMBER',
    projectId: DEFAULT_PROJECT_ID,
  }

  beforeEach(async () => {
    const { tokenId: id, name, role, projectId } = MEMBER
    await insertToken(database.db, { id, name, role, projectId, hash: Buffer.from('hash of ci'), prefix: 'rp_ci' })
  })

  let secondsAgo = 50
  const refusal = async (id: string) => {
    // Never the same planned time.
    await makeDue(database.db, id, secondsAgo--)
    await server.runSchedules()
    const [run] = await readLastRuns(database.db, [id], 1)
    return { outcome: run?.outcome, code: run?.code, reason: (await row(id)).status_reason as string }
  }

  test('when the token of its owner is revoked, until another user takes it over', async () => {
    const id = await server.schedule({}, MEMBER)
    await database.db.query('UPDATE api_tokens SET revoked_at = now() WHERE id = $1', [MEMBER.tokenId])
    expect(await refusal(id)).toEqual({
      outcome: 'REFUSED',
      code: 'FORBIDDEN',
      reason: expect.stringMatching(/^The run of \S+ was refused: The token "ci", .* is no longer valid/),
    })
    expect(await chainsOf(database.db, id)).toEqual([])
    await resumeSchedule(server.context, { scheduleId: id })
    expect(await refusal(id)).toEqual({ outcome: 'STARTED', code: null, reason: null })
  })

  test('when it has a weaker role than it needs', async () => {
    const id = await server.schedule({}, MEMBER)
    await database.db.query(`UPDATE api_tokens SET role = 'VIEWER' WHERE id = $1`, [MEMBER.tokenId])
    expect(await refusal(id)).toMatchObject({ code: 'FORBIDDEN', reason: expect.stringContaining('role VIEWER') })
  })

  test('when a quota has no place', async () => {
    const id = await server.schedule({}, MEMBER)
    await setQuota(server.context, { scope: 'PROJECT', name: 'default', maxPending: 0 })
    expect(await refusal(id)).toMatchObject({ outcome: 'REFUSED', code: 'QUOTA_EXCEEDED' })
    expect(await refusal(id)).toMatchObject({ outcome: 'REFUSED' })
    await expect(runScheduleNow(server.context, { scheduleId: id })).rejects.toThrow('pending')
  })

  test('when its resource group is gone', async () => {
    const id = await server.schedule({}, MEMBER)
    await database.db.query(`UPDATE resource_groups SET deleted_at = now() WHERE name = 'default'`)
    expect(await refusal(id)).toMatchObject({ code: 'RESOURCE_GROUP_NOT_FOUND' })
  })

  test('when its times cannot be computed here, and other schedules run all the same', async () => {
    const id = await server.schedule({}, MEMBER)
    const other = await server.schedule()
    await database.db.query(`UPDATE schedules SET time_zone = 'Mars/Phobos' WHERE id = $1`, [id])
    await makeDue(database.db, other)
    expect(await refusal(id)).toMatchObject({ outcome: 'REFUSED', code: 'VALIDATION_FAILED' })
    expect(await outcomes(database.db, other)).toEqual(['STARTED'])
    expect((await row(id)).ahead).toBe(true)
  })

  test.each([
    [{ cron: '* * *' }, 'cron'],
    [{ every: 0.1 }, 'every'],
    [{ timeZone: 'Mars/Phobos' }, 'timeZone'],
    [{ catchUp: 101 }, 'catchUp'],
    [{ cron: '* * * * *', every: 5 }, 'cron'],
    [{ session: { name: 'x', command: [] } }, 'session.command'],
    [{ session: { name: 'x', command: ['true'], creationId: 'mine' } }, 'session.creationId'],
    [{ session: { name: 'x', command: ['true'], startsAt: new Date() } }, 'session.startsAt'],
    [{ session: { name: 'x', command: ['true'], project: 'other' } }, 'no project other'],
    [{ session: { name: 'x', command: ['true'], resourceGroup: 'nowhere' } }, 'no resource group nowhere'],
  ])('at once, a schedule that can never run: %j', async (input, fault) => {
    await expect(server.schedule(input as never, MEMBER)).rejects.toThrow(fault)
  })

  test('schedules of another project are not found, and a viewer changes nothing', async () => {
    const id = await server.schedule()
    const stranger = { ...MEMBER, projectId: '00000000-0000-7000-8000-00000000dead' }
    const foreign = { ...server.context, viewer: stranger }
    await expect(pauseSchedule(foreign, { scheduleId: id })).rejects.toThrow('no schedule')
    await expect(runScheduleNow(foreign, { scheduleId: id })).rejects.toThrow('no schedule')
    const viewer = { ...server.context, viewer: { ...MEMBER, role: 'VIEWER' as const } }
    await expect(deleteSchedule(viewer, { scheduleId: id })).rejects.toThrow('VIEWER')
    await expect(server.schedule({}, { ...MEMBER, role: 'VIEWER' })).rejects.toThrow('VIEWER')
  })
})

test('old runs are removed with old chains, those that wait are not', async () => {
  const id = await server.schedule({ overlap: 'QUEUE' })
  for (const secondsAgo of [9, 8]) {
    await makeDue(database.db, id, secondsAgo)
    await server.runSchedules()
  }
  const bound = { projectId: DEFAULT_PROJECT_ID, before: new Date(Date.now() + 60_000) }
  expect(await removeOldScheduleRuns(database.db, bound, 100)).toBe(1)
  expect(await outcomes(database.db, id)).toEqual(['QUEUED'])
})
