/** Stored policies that cannot be read. */
import { expect, it } from 'vitest'
import { driveAll, failWith } from '../../support/sessions/drive-session.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'
import { decisionRow } from '../../support/database/session-rows.ts'

const given = useScheduling()

it.each(['{"maxRetries": "many"}', '{"tomorrow": 1}', '[]', 'null'])(
  'a session whose stored policy is %s is not retried, says why, and does not stop the others',
  async (policy) => {
    const { server, agent, db, sql } = given
    const broken = await server.create({ retryPolicy: { maxRetries: 2 } })
    const sound = await server.create({ retryPolicy: { maxRetries: 2 } })
    await sql('UPDATE sessions SET retry_policy = $2::jsonb WHERE id = $1', [broken, policy])
    await driveAll(server, agent, 'RUNNING')
    await failWith(server, agent, 1)
    expect(await decisionRow(db, broken)).toMatchObject({
      phase: 'NOT_ELIGIBLE',
      explanation: expect.stringMatching(/^not retried: exit code 1; the stored retry policy is not valid \(/),
    })
    expect(await decisionRow(db, sound)).toMatchObject({ phase: 'SCHEDULED' })
  },
)
