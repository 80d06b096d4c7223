/** Retries whose child cannot be created: each is refused, and the others are dispatched. */
import { expect, it } from 'vitest'
import { driveAll, endAll, failWith } from '../../support/sessions/drive-session.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'
import { decisionRow } from '../../support/database/session-rows.ts'

const given = useScheduling()

/** Two sessions that failed and whose retries are due; the first is then spoilt. */
async function twoDueRetries() {
  const { server, agent, sql } = given
  const retryPolicy = { maxRetries: 2, retryDelay: 1 }
  const spoilt = await server.create({ creationId: 'spoilt', retryPolicy })
  const sound = await server.create({ creationId: 'sound', retryPolicy })
  await driveAll(server, agent, 'RUNNING')
  await failWith(server, agent, 1)
  await sql("UPDATE retry_decisions SET due_at = now() - interval '1 s', ready_at = now() - interval '1 s'")
  return { spoilt, sound }
}

it('a child whose creation id somebody has taken is refused for good, and the others are dispatched', async () => {
  const { server, db, sql } = given
  const { spoilt, sound } = await twoDueRetries()
  const taken = await server.create()
  await sql('UPDATE sessions SET creation_id = $2 WHERE id = $1', [taken, 'spoilt:retry:1'])
  await server.run('dispatch-retries')
  expect(await decisionRow(db, spoilt)).toMatchObject({
    phase: 'NOT_ELIGIBLE',
    child: null,
    explanation: 'not retried: the child was refused: another session has the creation id spoilt:retry:1',
  })
  expect(await decisionRow(db, sound)).toMatchObject({ phase: 'DISPATCHED', child: expect.any(String) })
})

it('a retry whose session is gone is gone with it, and the others are dispatched', async () => {
  const { server, db, sql } = given
  const { spoilt, sound } = await twoDueRetries()
  await sql('DELETE FROM sessions WHERE id = $1', [spoilt])
  await server.run('dispatch-retries')
  expect(await decisionRow(db, spoilt)).toBeUndefined()
  expect(await decisionRow(db, sound)).toMatchObject({ phase: 'DISPATCHED' })
})

it.each(['{"maxRetries": "many"}', '{"emitRetryEvents": 7}', '[]', 'null'])(
  'a policy that became %s after the decision stops its own retry alone',
  async (policy) => {
    const { server, db, sql } = given
    const { spoilt, sound } = await twoDueRetries()
    await sql('UPDATE sessions SET retry_policy = $2::jsonb WHERE id = $1', [spoilt, policy])
    await server.run('dispatch-retries')
    expect(await decisionRow(db, spoilt)).toMatchObject({
      phase: 'NOT_ELIGIBLE',
      child: null,
      explanation: expect.stringMatching(/^not retried: the child was refused: the stored retry policy is not valid/),
    })
    expect(await decisionRow(db, sound)).toMatchObject({ phase: 'DISPATCHED' })
  },
)

it.each([
  '{}',
  'null',
  '[]',
  '"gone"',
  '{"growth": null, "avoid": null}',
  '{"growth": null, "avoid": {"agents": ["agent 7"], "groups": []}}',
  '{"growth": {"resourceSlots": {"cpu": "many"}, "batchTimeout": null}, "avoid": {"agents": [], "groups": []}}',
])('a decision whose details became %s stops its own retry alone', async (details) => {
  const { server, db, sql } = given
  const { spoilt, sound } = await twoDueRetries()
  await sql('UPDATE retry_decisions SET details = $2::jsonb WHERE session_id = $1', [spoilt, details])
  await server.run('dispatch-retries')
  expect(await decisionRow(db, spoilt)).toMatchObject({
    phase: 'NOT_ELIGIBLE',
    child: null,
    explanation: expect.stringMatching(/^not retried: the child was refused: the stored retry decision is not valid/),
  })
  expect(await decisionRow(db, sound)).toMatchObject({ phase: 'DISPATCHED', child: expect.any(String) })
})

it.each(['null', '[]', '{"error": "text"}', '{"error": {"name": 7}}', '"gone"'])(
  'a failure that is told as %s is not retried, says so, and stops no other decision',
  async (statusData) => {
    const { server, agent, db, sql } = given
    const spoilt = await server.create({ retryPolicy: { maxRetries: 2 } })
    const sound = await server.create({ retryPolicy: { maxRetries: 2 } })
    await driveAll(server, agent, 'RUNNING')
    await endAll(server, agent, 1)
    await sql('UPDATE sessions SET status_data = $2::jsonb WHERE id = $1', [spoilt, statusData])
    await server.run('decide-retries')
    expect(await decisionRow(db, spoilt)).toMatchObject({
      phase: 'NOT_ELIGIBLE',
      cause: null,
      explanation: expect.stringMatching(/^not retried: .*cannot be classified/),
    })
    expect(await decisionRow(db, sound)).toMatchObject({ phase: 'SCHEDULED', cause: 'KERNEL_NONZERO_EXIT' })
  },
)
