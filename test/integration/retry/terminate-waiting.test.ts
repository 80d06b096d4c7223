/** Terminating a session that waits for its retry. */
import { expect, it } from 'vitest'
import { setRetrySwitch } from '../../../src/services/retry/retry-switches.ts'
import { terminateSession } from '../../../src/services/session/terminate-session.ts'
import { driveAll, endAll, failWith, sessionIn } from '../../support/sessions/drive-session.ts'
import { passTime } from '../../support/sessions/pass-time.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'
import { chainRows, decisionRow, events } from '../../support/database/session-rows.ts'

const given = useScheduling()

async function failed(): Promise<string> {
  const { server, agent } = given
  const id = await sessionIn(server, agent, 'RUNNING', {
    retryPolicy: { maxRetries: 2, retryDelay: 10, jitter: 'NONE' },
  })
  await failWith(server, agent, 3)
  return id
}

const terminate = (sessionId: string, reason?: string) => terminateSession(given.server.context, { sessionId, reason })

it('terminateSession cancels the retry that a session waits for, once, and says who and why', async () => {
  const { server, db, sql } = given
  const id = await failed()
  await terminate(id, 'wrong input')
  expect(await decisionRow(db, id)).toMatchObject({
    phase: 'CANCELLED',
    explanation: 'retry 1 of 2: exit code 3; waits 10 s; cancelled by ada: wrong input',
  })
  expect((await events(db, id)).at(-1)).toBe('session.retry_cancelled')
  expect(await sql(`SELECT actor FROM audit_log WHERE action = 'retry.cancel'`)).toEqual([{ actor: 'ada' }])
  await passTime(db, 60)
  expect(await server.run('dispatch-retries')).toEqual([0])
  expect(await chainRows(db, id)).toHaveLength(1)
  await expect(terminate(id)).rejects.toMatchObject({ code: 'SESSION_ALREADY_FINISHED' })
})

it('a held one as well', async () => {
  const { server, db } = given
  const id = await failed()
  await setRetrySwitch(server.context, { scope: 'CLUSTER', disabled: true })
  await passTime(db, 11)
  await server.run('dispatch-retries')
  await terminate(id)
  expect(await decisionRow(db, id)).toMatchObject({ phase: 'CANCELLED', holdReason: null })
})

it('and one that is about to be scheduled: the session has ended, and nobody has decided yet', async () => {
  const { server, agent, db, sql } = given
  const id = await server.create({ retryPolicy: { maxRetries: 2, retryDelay: 10, jitter: 'NONE' } })
  const dependent = await server.create({ dependsOn: [id] })
  await driveAll(server, agent, 'RUNNING')
  await endAll(server, agent, 1)
  expect(await decisionRow(db, id)).toBeUndefined()
  await terminate(id)
  await server.run('decide-retries', 'dispatch-retries', 'schedule-sessions')
  expect(await decisionRow(db, id)).toMatchObject({
    phase: 'CANCELLED',
    explanation: 'retry 1 of 2: exit code 1; waits 10 s; cancelled by ada',
  })
  expect((await events(db, id)).filter((line) => line.includes('retry'))).toEqual(['session.retry_cancelled'])
  expect(await sql('SELECT status FROM sessions WHERE id = $1', [dependent])).toEqual([{ status: 'CANCELLED' }])
})

it.each([{ maxRetries: 0 }, { maxRetries: 2, eligibleCauses: [] }])(
  'of an ended session that would not be retried (%j) nothing is left to end',
  async (retryPolicy) => {
    const { server, agent, db } = given
    const id = await sessionIn(server, agent, 'RUNNING', { retryPolicy })
    await endAll(server, agent, 1)
    await expect(terminate(id)).rejects.toMatchObject({ code: 'SESSION_ALREADY_FINISHED' })
    await server.run('decide-retries')
    await expect(terminate(id)).rejects.toMatchObject({ code: 'SESSION_ALREADY_FINISHED' })
    expect((await decisionRow(db, id))?.phase).not.toBe('CANCELLED')
  },
)

it('a session that was retried has ended: its child is what runs', async () => {
  const { server, db } = given
  const id = await failed()
  await passTime(db, 11)
  await server.run('dispatch-retries')
  await expect(terminate(id)).rejects.toMatchObject({ code: 'SESSION_ALREADY_FINISHED' })
  expect(await chainRows(db, id)).toMatchObject([{ status: 'ERROR' }, { status: 'PENDING' }])
})
