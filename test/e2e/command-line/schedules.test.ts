import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readAdminToken, startServer, type ServerProcess } from '../../../src/cli/demo/server-process.ts'
import { commandLine } from '../../support/programs/command-line.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'

/** Schedules from the command line, on two servers with agents that run real processes, one of which is killed. */

let database: TestDatabase
let first: ServerProcess
let second: ServerProcess
let reprise: ReturnType<typeof commandLine>

beforeAll(async () => {
  const directory = await temporaryDirectory('schedules')
  database = await testDatabase()
  const env = { REPRISE_DATABASE_URL: database.connectionString, REPRISE_SLOTS: 'cpu=8' }
  const key = { REPRISE_SECRETS_KEY_FILE: join(directory, 'first', 'secrets-key') }
  const start = (name: string, more: object = {}) =>
    startServer({
      dataDir: join(directory, name),
      port: 0,
      onLog: () => {},
      env: { ...env, REPRISE_AGENT_NAME: name, ...more },
    })
  first = await start('first')
  const token = await readAdminToken(join(directory, 'first'))
  second = await start('second', key)
  const config = { XDG_CONFIG_HOME: directory, REPRISE_DATA_DIR: join(directory, 'none') }
  reprise = commandLine({ ...config, REPRISE_URL: second.url, REPRISE_TOKEN: token })
})
afterAll(async () => {
  await second?.stop()
  await first?.kill().catch(() => {})
  await database?.close()
})

const shown = async (name: string) => JSON.parse((await reprise('schedules', 'info', name, '--json')).stdout)

/** Planned times that were decided on, and those that there were from the first to the last; and what was made. */
async function reckoning() {
  const { rows } = await database.db.query<Record<'decided' | 'planned' | 'started' | 'sessions', number>>(
    `SELECT sum(count)::int AS decided,
       (extract(epoch FROM max(last_planned_at) - min(planned_at)) + 1)::int AS planned,
       count(*) FILTER (WHERE outcome = 'STARTED')::int AS started,
       (SELECT count(*) FROM chains WHERE schedule_id IS NOT NULL)::int AS sessions
     FROM schedule_runs WHERE asked_by IS NULL`,
  )
  return rows[0]!
}

test('each planned time is decided on once, though a server is killed', async () => {
  const options = ['--every', '1s', '--catch-up', '100', '--retries', '1', '--cpu', '0.1']
  const made = await reprise('schedules', 'create', 'tick', ...options, '--', 'true')
  expect(made).toMatchObject({ status: 0, stdout: expect.stringMatching(/^[0-9a-f-]{36}\n$/) })
  await eventually(async () => (await reckoning()).started >= 3, { withinMs: 120_000 })
  await first.kill()
  // A run that was under way holds the next ones until its agent is known to be dead: they are decided to be skipped.
  const before = (await reckoning()).decided
  await eventually(async () => (await reckoning()).decided >= before + 3, { withinMs: 120_000 })
  expect(await reprise('schedules', 'pause', 'tick', '--reason', 'enough')).toMatchObject({ stdout: 'tick: paused\n' })
  const { decided, planned, started, sessions } = await reckoning()
  expect({ decided, sessions }).toEqual({ decided: planned, sessions: started })
  const tick = await shown('tick')
  expect(tick).toMatchObject({ paused: true, pauseReason: 'enough', every: 1, session: { maxRetries: 1 } })
  expect((await reprise('schedules', 'info', 'tick')).stdout).toMatch(/when +every 1 s/)
  expect((await reprise('schedules', 'runs', 'tick')).stdout).toContain('SUCCEEDED')
})

test('is made, changed, run and deleted by its name', async () => {
  const timing = ['--cron', '30 2 * * *', '--timezone', 'Europe/Berlin', '--overlap', 'cancel-other', '--spread', '5m']
  await reprise('schedules', 'create', 'nightly', ...timing, '--paused', '--', 'sleep', '60')
  expect((await reprise('schedules')).stdout).toMatch(/nightly +30 2 \* \* \* Europe\/Berlin +paused/)
  expect(await shown('nightly')).toMatchObject({
    overlap: 'CANCEL_OTHER',
    jitter: 300,
    session: { command: ['sleep', '60'] },
  })
  const updated = await reprise('schedules', 'update', 'nightly', '--every', '2h', '--overlap', 'skip')
  expect(updated.stdout).toMatch(/^nightly: every 2 h, next run/)
  const half = await reprise('schedules', 'update', 'nightly', '--retries', '2')
  expect(half.status).toBe(2)
  expect(half.stderr).toContain('give the command after --, too')
  const other = ['--retries', '2', '--cpu', '0.1', '-e', 'DEPTH=full', '--', 'sleep', '70']
  expect((await reprise('schedules', 'update', 'nightly', ...other)).stdout).toMatch(/^nightly: every 2 h, next run/)
  expect(await shown('nightly')).toMatchObject({ every: 7_200, session: { command: ['sleep', '70'], maxRetries: 2 } })
  const session = (await reprise('schedules', 'run', 'nightly')).stdout
  expect(session).toMatch(/^[0-9a-f-]{36}\n$/)
  expect(await reprise('schedules', 'run', 'nightly')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('skipped: an earlier run is still running'),
  })
  await reprise('cancel', session.trim())
  expect((await reprise('schedules', 'resume', 'nightly')).stdout).toMatch(/^nightly: next run in/)
  const refused = await reprise('schedules', 'create', 'bad', '--cron', '99 * * * *', '--', 'true')
  expect(refused.stderr).toContain('Invalid value for minute: 99')
  expect(refused.status).not.toBe(0)
  expect((await reprise('schedules', 'delete', 'nightly')).stdout).toBe('nightly: deleted\n')
  expect((await reprise('schedules', 'info', 'nightly')).stderr).toContain('nightly')
})

test('cancel-other ends what runs, and then starts', async () => {
  await reprise('schedules', 'create', 'sync', '--cron', '@yearly', '--overlap', 'cancel-other', '--', 'sleep', '600')
  const older = (await reprise('schedules', 'run', 'sync')).stdout.trim()
  const state = async (id: string) => JSON.parse((await reprise('info', id, '--json')).stdout)
  await eventually(async () => JSON.stringify(await state(older)).includes('"RUNNING"'))
  expect((await reprise('schedules', 'run', 'sync')).stderr).toContain('queued')
  const newer = await eventually(async () => {
    const { lastRuns } = await shown('sync')
    return lastRuns[0].chainId as string | null
  })
  expect(newer).not.toBe(older)
  const { rows } = await database.db.query<{ status: string; reason: string }>(
    'SELECT status, status_reason AS reason FROM sessions WHERE id = $1',
    [older],
  )
  expect(rows).toEqual([{ status: 'TERMINATED', reason: 'a later run of schedule sync takes its place' }])
  await reprise('cancel', newer)
})
