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
  await using _ = server.start()
  // In four quarters of the time between two looks, and so far apart that a machine stands still for few of them.
  const ids = await Promise.all(
    [0, 1, 2, 3].map((n) => server.create({ startsAt: new Date(Date.now() + 4_000 + n * 2_500) })),
  )
  const [left] = await given.sql('SELECT bool_and(starts_at > now()) AS early FROM sessions')
  expect(left).toEqual({ early: true })
  for (const id of ids) await eventually(async () => (await sessionRow(db, id)).status !== 'PENDING')
  const late = await given.sql(
    `SELECT extract(epoch FROM first_at - starts_at)::float8 AS seconds FROM scheduling_history h
     JOIN sessions s ON s.id = h.entity_id WHERE h.to_status = 'SCHEDULED' ORDER BY seconds`,
  )
  expect(late).toHaveLength(4)
  expect(late[0]!['seconds']).toBeGreaterThanOrEqual(0)
  expect(late[1]!['seconds']).toBeLessThan(COORDINATOR_INTERVAL_MS / 4_000)
})
