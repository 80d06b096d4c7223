/** Sessions that depend on chains, and start times. */
import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { COORDINATOR_INTERVAL_MS } from '../../../src/domain/limits.ts'
import { createSessions } from '../../../src/services/session/create-sessions.ts'
import { driveAll, failWith } from '../../support/sessions/drive-session.ts'
import { eventually } from '../../support/eventually.ts'
import { passTime } from '../../support/sessions/pass-time.ts'
import { useResubmission } from '../../support/sessions/resubmission.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'
import { chainRows, sessionRow } from '../../support/database/session-rows.ts'

const given = useScheduling()
const resubmit = useResubmission(given)

it('a chain that was resubmitted before its dependents were looked at has not failed for good', async () => {
  const { server, agent, db } = given
  const first = await server.create()
  const dependent = await server.create({ dependsOn: [first] })
  await driveAll(server, agent, 'RUNNING')
  await failWith(server, agent, 1)
  await resubmit({ sessionIds: [first] })
  await passTime(db, 60)
  await server.run('schedule-sessions')
  expect(await chainRows(db, first)).toMatchObject([{ status: 'ERROR' }, { origin: 'RESUBMISSION' }])
  expect((await sessionRow(db, dependent)).status).toBe('PENDING')
  await driveAll(server, agent, 'RUNNING')
  await failWith(server, agent, 0)
  await passTime(db, 60)
  await server.run('schedule-sessions')
  expect((await sessionRow(db, dependent)).status).toBe('PREPARING')
})

it('a later attempt of a chain stands for the chain, whichever was named', async () => {
  const { server, agent, db } = given
  const first = await server.create()
  await driveAll(server, agent, 'RUNNING')
  await failWith(server, agent, 1)
  await resubmit({ sessionIds: [first] })
  const [, second] = await chainRows(db, first)
  const dependents = [
    await server.create({ dependsOn: [first] }),
    await server.create({ dependsOn: [second!.id, first] }),
  ]
  await driveAll(server, agent, 'RUNNING')
  await failWith(server, agent, 0)
  await passTime(db, 60)
  await server.run('schedule-sessions')
  for (const id of dependents) expect((await sessionRow(db, id)).status).toBe('PREPARING')
})

it('what does not exist yet cannot be depended upon, so there are no circles', async () => {
  const { context } = given.server
  const work = { name: 'work', command: ['true'] }
  const results = await createSessions(context, [
    { ...work, dependsOn: [randomUUID()] },
    { ...work, creationId: 'b' },
    work,
  ])
  expect(results).toMatchObject([{ code: 'DEPENDENCY_NOT_FOUND' }, { created: true }, { created: true }])
  const { sessionId } = results[1] as { sessionId: string }
  expect(await createSessions(context, [{ ...work, creationId: 'b', dependsOn: [sessionId] }])).toMatchObject([
    { code: 'CREATION_ID_REUSED' },
  ])
  expect(await given.sql('SELECT FROM session_dependencies')).toEqual([])
})

it('a start time that has come is kept, not found at the next look', async () => {
  const { server, db } = given
  await server.create({ startsAt: new Date(Date.now() + 3_600_000) })
  // The scheduler looks again when the first of them begins, and at the end of its interval at the latest.
  const { againInMs } = await server.services['schedule-sessions'].runOnce()
  expect(againInMs).toBeGreaterThan(COORDINATOR_INTERVAL_MS)
  expect(againInMs).toBeLessThanOrEqual(3_600_000)
  const id = await server.create({ startsAt: new Date(Date.now() + 1_500) })
  const next = await server.services['schedule-sessions'].runOnce()
  expect(next.againInMs).toBeLessThanOrEqual(1_500)
  await using _ = server.start()
  await eventually(async () => (await sessionRow(db, id)).status !== 'PENDING')
  const early = await given.sql(
    `SELECT FROM scheduling_history h JOIN sessions s ON s.id = h.entity_id
     WHERE h.to_status = 'SCHEDULED' AND first_at < starts_at`,
  )
  expect(early).toEqual([])
})
