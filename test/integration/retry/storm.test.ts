/** Many failures at once under a rate limit. */
import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { DISPATCH_BATCH_RETRIES_MAX } from '../../../src/domain/limits.ts'
import { setRetrySwitch } from '../../../src/services/retry/retry-switches.ts'
import { dueRetries } from '../../support/sessions/due-retries.ts'
import { eventually, pause } from '../../support/eventually.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'
import { testServer } from '../../support/servers/test-server.ts'

const given = useScheduling()
const STORM = 2_000
const LIMIT = { perSecond: 300, burst: 200 }
const OTHERS = 40
/** A dispatcher's look begins this much before it takes tokens at most, on a machine that is busy. */
const LOOK_SECONDS = 3

it('many failing at once under a limit: the limit is kept, nothing is doubled, and others do not wait', async () => {
  const { server, db, sql } = given
  await sql(`INSERT INTO projects (id, domain_id, name) SELECT $1, id, 'calm' FROM domains`, [randomUUID()])
  await setRetrySwitch(server.context, { scope: 'PROJECT', name: 'default', rateLimit: LIMIT })
  await dueRetries(server.context, { count: STORM })
  const dispatchers = [server, testServer(db)].map(({ services }) => services['dispatch-retries'])
  for (const dispatcher of dispatchers) void dispatcher.start()
  try {
    for (let made = 0; made < OTHERS; made++) {
      await dueRetries(server.context, { count: 1, project: 'calm' })
      dispatchers[0]!.wake()
      await pause(20)
    }
    const open = `SELECT FROM retry_decisions WHERE phase <> 'DISPATCHED' LIMIT 1`
    await eventually(async () => (await sql(open)).length === 0, { withinMs: 120_000 })
  } finally {
    await Promise.all(dispatchers.map((dispatcher) => dispatcher.stop()))
  }

  const [children] = await sql(`SELECT count(*) AS children, count(DISTINCT parent_session_id) AS parents FROM sessions
    WHERE parent_session_id IS NOT NULL`)
  expect(children).toEqual({ children: STORM + OTHERS, parents: STORM + OTHERS })

  const looks =
    await sql(`SELECT extract(epoch FROM dispatched_at - min(dispatched_at) OVER ())::float8 AS at, count(*) AS count
    FROM retry_decisions d JOIN projects p ON p.id = d.project_id WHERE p.name = 'default' GROUP BY dispatched_at ORDER BY 1`)
  // The bucket's tokens need this long, and more on a busy machine.
  const lasted = looks.at(-1)!['at'] as number
  let sum = 0
  for (const { at, count } of looks as { at: number; count: number }[]) {
    sum += count
    expect(count).toBeLessThanOrEqual(DISPATCH_BATCH_RETRIES_MAX)
    expect(sum).toBeLessThanOrEqual(LIMIT.burst + LIMIT.perSecond * (at + LOOK_SECONDS))
  }

  const [late] = await sql(`SELECT max(extract(epoch FROM dispatched_at - due_at))::float8 AS seconds
    FROM retry_decisions d JOIN projects p ON p.id = d.project_id WHERE p.name = 'calm'`)
  expect(late!.seconds).toBeLessThan(lasted)

  const [held] = await sql(`SELECT count(*) AS events, count(DISTINCT session_id) AS sessions FROM session_events
    WHERE type = 'session.retry_held'`)
  expect(held!.events).toBe(held!.sessions)
})
