/** Retries that would start after the time that their policy allows. */
import { expect, it } from 'vitest'
import { retryNow } from '../../../src/services/retry/change-retry.ts'
import { setRetrySwitch } from '../../../src/services/retry/retry-switches.ts'
import { failWith, sessionIn } from '../../support/sessions/drive-session.ts'
import { passTime } from '../../support/sessions/pass-time.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'
import { chainRows, decisionRow, events } from '../../support/database/session-rows.ts'

const given = useScheduling()

/** A session that failed, with a retry due in a second, of which none may start after the first minute. */
async function failed(emitRetryEvents = true): Promise<string> {
  const { server, agent } = given
  const retryPolicy = { maxRetries: 3, retryDelay: 1, jitter: 'NONE' as const, maxElapsed: 60, emitRetryEvents }
  const id = await sessionIn(server, agent, 'RUNNING', { retryPolicy })
  await failWith(server, agent, 3)
  return id
}

async function switchedOff(disabled: boolean): Promise<void> {
  await setRetrySwitch(given.server.context, { scope: 'CLUSTER', disabled })
}

const EXPLANATION =
  'retries exhausted: it would start later than 60 s after the first attempt; retry 1 of 3: exit code 3; waits 1 s'

it('a retry that a switch holds until after maxElapsed is exhausted, which is told and written down', async () => {
  const { server, db, sql } = given
  const id = await failed()
  const dependent = await server.create({ dependsOn: [id] })
  await server.run('schedule-sessions')
  await switchedOff(true)
  await passTime(db, 30)
  await server.run('dispatch-retries')
  expect(await decisionRow(db, id)).toMatchObject({ phase: 'HELD', holdReason: 'DISABLED' })
  await passTime(db, 31)
  await switchedOff(false)
  await server.run('dispatch-retries', 'schedule-sessions')
  expect(await decisionRow(db, id)).toMatchObject({ phase: 'EXHAUSTED', holdReason: null, explanation: EXPLANATION })
  expect(await chainRows(db, id)).toHaveLength(1)
  expect((await events(db, id)).at(-1)).toBe('session.retry_exhausted')
  const [told] = await sql(`SELECT data FROM session_events WHERE type = 'session.retry_exhausted'`)
  expect(told!['data']).toMatchObject({ attempt: 1, maxAttempts: 4, childSessionId: null, scheduledAt: null })
  const audit = await sql(
    `SELECT actor, details FROM audit_log WHERE action = 'retry.decided' ORDER BY id DESC LIMIT 1`,
  )
  expect(audit).toEqual([
    {
      actor: 'scheduler',
      details: { phase: 'EXHAUSTED', cause: 'KERNEL_NONZERO_EXIT', explanation: EXPLANATION },
    },
  ])
  const [waiting] = await sql('SELECT status FROM sessions WHERE id = $1', [dependent])
  expect(waiting).toEqual({ status: 'CANCELLED' })
})

it('a held one is exhausted while it is still held', async () => {
  const { server, db } = given
  const id = await failed()
  await switchedOff(true)
  await passTime(db, 2)
  await server.run('dispatch-retries')
  await passTime(db, 1_000)
  await server.run('dispatch-retries')
  expect(await decisionRow(db, id)).toMatchObject({ phase: 'EXHAUSTED', holdReason: null })
})

it('one that only waited for a server is exhausted all the same, and retryNow does not help', async () => {
  const { server, db } = given
  const id = await failed()
  await passTime(db, 61)
  await retryNow(server.context, { sessionId: id })
  await server.run('dispatch-retries')
  expect(await decisionRow(db, id)).toMatchObject({ phase: 'EXHAUSTED' })
})

it('one that starts in time is dispatched, though it was held', async () => {
  const { server, db } = given
  const id = await failed()
  await switchedOff(true)
  await passTime(db, 30)
  await server.run('dispatch-retries')
  await switchedOff(false)
  await server.run('dispatch-retries')
  expect(await decisionRow(db, id)).toMatchObject({ phase: 'DISPATCHED' })
})

it('a policy without retry events tells nothing, and the others of the batch are dispatched', async () => {
  const { server, db, sql } = given
  const late = await failed(false)
  await passTime(db, 61)
  const timely = await failed()
  await passTime(db, 2)
  await server.run('dispatch-retries')
  expect(await decisionRow(db, late)).toMatchObject({ phase: 'EXHAUSTED' })
  expect(await decisionRow(db, timely)).toMatchObject({ phase: 'DISPATCHED' })
  expect(await sql(`SELECT FROM session_events WHERE type = 'session.retry_exhausted'`)).toEqual([])
})
