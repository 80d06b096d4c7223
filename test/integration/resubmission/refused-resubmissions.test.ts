/** Refused resubmissions, retries that wait when a resubmission comes, and the records of a resubmission. */
import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import { createFactories } from '../../support/sessions/factories.ts'
import { driveAll, failWith, sessionIn, withoutDecisions } from '../../support/sessions/drive-session.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'
import { terminateSession } from '../../../src/services/session/terminate-session.ts'
import { useResubmission, refusals } from '../../support/sessions/resubmission.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'
import { chainRows, decisionRow, events, sessionRow } from '../../support/database/session-rows.ts'
import { DEFAULT_PROJECT_ID } from '../../support/servers/test-server.ts'

const given = useScheduling()
const resubmit = useResubmission(given)
let factory: ReturnType<typeof createFactories>
beforeEach(() => {
  factory = createFactories(given.db)
})

const spec = async (id: string) =>
  (await given.sql('SELECT retry_cause AS cause, epoch FROM sessions WHERE id = $1', [id]))[0]!

describe('each of these is refused by name, and the others go through', () => {
  it('sessions that run, succeeded, have a child, are unknown, foreign, interactive, or named twice', async () => {
    const mine = { projectId: DEFAULT_PROJECT_ID, retryPolicy: { maxRetries: 1 } }
    const good = await factory.session({ ...mine, status: 'ERROR', phase: 'EXHAUSTED' })
    const running = await factory.session({ ...mine, status: 'RUNNING' })
    const succeeded = await factory.session({ ...mine, status: 'TERMINATED' })
    const [parent, child] = await factory.chain(2, { ...mine, status: 'RUNNING' })
    const theirs = await factory.session({ projectId: await factory.project(), status: 'ERROR' })
    const interactive = await factory.session({ ...mine, sessionType: 'INTERACTIVE', status: 'ERROR' })
    const unknown = randomUUID()
    const sessionIds = [running, succeeded, parent!, theirs, interactive, good, good].map(({ id }) => id)
    const shown = await resubmit(
      { sessionIds: [...sessionIds, unknown] },
      { viewer: { role: 'MEMBER', projectId: DEFAULT_PROJECT_ID } },
    )
    expect(refusals(shown)).toEqual([
      `SESSION_NOT_FINISHED ${running.id}`,
      `SESSION_SUCCEEDED ${succeeded.id}`,
      `SESSION_HAS_CHILD ${parent!.id}`,
      `SESSION_NOT_FOUND ${theirs.id}`,
      `SESSION_NOT_BATCH ${interactive.id}`,
      `SESSION_NAMED_TWICE ${good.id}`,
      `SESSION_NOT_FOUND ${unknown}`,
    ])
    expect(shown.refused[0]!.message).toContain('RUNNING')
    expect(shown.refused[2]!.message).toContain(child!.id)
    expect((await chainRows(given.db, good.chainId)).map(({ id }) => id)).toEqual([good.id, shown.sessionIds[0]])
    expect(await given.sql('SELECT FROM sessions WHERE attempt > 1 AND origin = $1', ['RESUBMISSION'])).toHaveLength(1)
  })

  it('a session that may still run on a silent agent', async () => {
    const { server, agent, db } = given
    const id = await sessionIn(server, agent, 'RUNNING', { retryPolicy: { maxRetries: 0 } })
    await advanceClock(db, 60, { silentAgents: [agent.id] })
    await server.run('watch-agents')
    await server.run('detect-termination', 'terminate-sessions', 'promote-to-terminated', 'decide-retries')
    expect(await sessionRow(db, id)).toMatchObject({ status: 'ERROR', cause: 'AGENT_TRANSIENT' })
    const tooEarly = await resubmit({ sessionIds: [id] })
    expect(refusals(tooEarly)).toEqual([`SESSION_MAY_BE_ALIVE ${id}`])
    expect(tooEarly.refused[0]!.message).toMatch(/for (7[0-9]|6[0-9]) s$/)
    await advanceClock(db, 80, { silentAgents: [agent.id] })
    expect((await resubmit({ sessionIds: [id] })).sessionIds).toHaveLength(1)
  })

  it('a chain whose beginning or counter is gone: nothing is taken to be 0', async () => {
    const [first, last] = await factory.chain(2, { status: 'ERROR', phase: 'EXHAUSTED' })
    const good = await factory.session({ status: 'ERROR', phase: 'EXHAUSTED' })
    await given.sql(
      `UPDATE sessions SET parent_session_id = NULL, attempt = 1, chain_id = id, origin = 'INITIAL' WHERE id = $1`,
      [last!.id],
    )
    await given.db.transaction(async (tx) => {
      await tx.query('SET LOCAL session_replication_role = replica')
      await tx.query('ALTER TABLE sessions DROP CONSTRAINT sessions_first_of_chain')
      await tx.query(`UPDATE sessions SET chain_id = $2 WHERE id = $1`, [last!.id, randomUUID()])
    })
    const shown = await resubmit({ sessionIds: [last!.id, good.id] })
    expect(refusals(shown)).toEqual([`CHAIN_UNREADABLE ${last!.id}`])
    expect(shown.sessionIds).toHaveLength(1)
    await given.sql('DELETE FROM sessions WHERE id = ANY($1)', [[first!.id, last!.id]])
    await given.sql(
      'ALTER TABLE sessions ADD CONSTRAINT sessions_first_of_chain CHECK ((chain_id = id) = (attempt = 1))',
    )
  })

  it('a child whose creation id is taken', async () => {
    const session = await factory.session({ status: 'ERROR', retryPolicy: { maxRetries: 1 }, phase: 'SCHEDULED' })
    const taken = await given.server.create()
    const values = [taken, `creation-${session.id}:resubmission:1`]
    await given.sql('UPDATE sessions SET creation_id = $2 WHERE id = $1', values)
    const shown = await resubmit({ sessionIds: [session.id] })
    expect(refusals(shown)).toEqual([`CREATION_ID_REUSED ${session.id}`])
    // Nothing is lost: its retry still waits.
    expect(await decisionRow(given.db, session.id)).toMatchObject({ phase: 'SCHEDULED' })
  })
})

it('a session that a person ended while it ran or waited can be resubmitted', async () => {
  const { server, agent, db } = given
  const ran = await sessionIn(server, agent, 'RUNNING')
  await terminateSession(server.context, { sessionId: ran })
  await server.run('terminate-sessions')
  await agent.comply()
  await server.run('promote-to-terminated', 'decide-retries')
  const waited = await server.create()
  await terminateSession(server.context, { sessionId: waited })
  await server.run('decide-retries')
  const shown = await resubmit({ sessionIds: [ran, waited] })
  expect(shown.refused).toEqual([])
  expect(await spec(shown.sessionIds[0]!)).toMatchObject({ cause: 'USER_CANCELLED', epoch: 1 })
  expect((await chainRows(db, waited)).map(({ status }) => status)).toEqual(['CANCELLED', 'PENDING'])
})

describe('a retry that waits', () => {
  it.each(['SCHEDULED', 'HELD'] as const)(
    '%s is superseded, and its explanation names the resubmission',
    async (phase) => {
      const { server, agent, db } = given
      const id = await sessionIn(server, agent, 'RUNNING', { retryPolicy: { maxRetries: 2, retryDelay: 30 } })
      await failWith(server, agent, 1)
      if (phase === 'HELD')
        await given.sql(`UPDATE retry_decisions SET phase = 'HELD', hold_reason = 'DISABLED' WHERE session_id = $1`, [
          id,
        ])
      const { resubmissionId } = await resubmit({ sessionIds: [id] })
      expect(await decisionRow(db, id)).toMatchObject({
        phase: 'CANCELLED',
        holdReason: null,
        explanation: expect.stringMatching(
          new RegExp(`^retry 1 of 2: exit code 1; .*; superseded by resubmission ${resubmissionId} by ada$`),
        ),
      })
      expect((await events(db, id)).at(-1)).toBe('session.retry_cancelled')
      const [event] = await given.sql(
        `SELECT data ->> 'reason' AS reason FROM session_events WHERE type = 'session.retry_cancelled'`,
      )
      expect(event!.reason).toBe(`superseded by resubmission ${resubmissionId} by ada`)
      await advanceClock(db, 100)
      expect(await server.run('dispatch-retries')).toEqual([0])
      expect(await chainRows(db, id)).toHaveLength(2)
    },
  )

  it('that is still to be decided is decided with the resubmission, once and for all', async () => {
    const { server, agent, db } = given
    const id = await sessionIn(server, agent, 'RUNNING', { retryPolicy: { maxRetries: 2 } })
    agent.exitAll(7)
    await agent.sync()
    await withoutDecisions(server, () => server.run('detect-termination', 'promote-to-terminated'))
    expect(await decisionRow(db, id)).toBeUndefined()
    const shown = await resubmit({ sessionIds: [id] })
    expect(await decisionRow(db, id)).toMatchObject({
      phase: 'CANCELLED',
      cause: 'KERNEL_NONZERO_EXIT',
      explanation: expect.stringContaining(`superseded by resubmission ${shown.resubmissionId} by ada`),
    })
    expect(await spec(shown.sessionIds[0]!)).toMatchObject({ cause: 'KERNEL_NONZERO_EXIT' })
    expect((await events(db, id)).filter((event) => event.startsWith('session.retry'))).toEqual([
      'session.retry_cancelled',
    ])
    expect(await server.run('decide-retries', 'dispatch-retries')).toEqual([0, 0])
    expect(await chainRows(db, id)).toHaveLength(2)
  })

  it('that would not have come is decided as it would have been', async () => {
    const session = await factory.session({ status: 'ERROR', retryPolicy: { maxRetries: 0 }, phase: null })
    await resubmit({ sessionIds: [session.id] })
    expect(await decisionRow(given.db, session.id)).toMatchObject({
      phase: 'NONE',
      explanation: expect.stringContaining('maxRetries is 0'),
    })
  })
})

describe('permissions, audit log and records', () => {
  it('a VIEWER may not', async () => {
    const session = await factory.session({ status: 'ERROR', phase: 'EXHAUSTED' })
    const viewer = { role: 'VIEWER', projectId: DEFAULT_PROJECT_ID } as const
    await expect(resubmit({ sessionIds: [session.id] }, { viewer })).rejects.toMatchObject({ code: 'FORBIDDEN' })
  })

  it('an audit entry for the call, and one for the batch', async () => {
    const session = await factory.session({ status: 'ERROR', phase: 'EXHAUSTED' })
    const { resubmissionId, sessionIds } = await resubmit({ sessionIds: [session.id], overrides: { priority: 1 } })
    expect(
      await given.sql(
        `SELECT actor, action, project_id AS project, details FROM audit_log WHERE action LIKE 'session.resubmi%' ORDER BY id`,
      ),
    ).toEqual([
      {
        actor: 'ada',
        action: 'session.resubmit',
        project: null,
        details: {
          resubmissionId,
          clientKey: expect.any(String),
          total: 1,
          includeSucceeded: false,
          includeDependents: false,
          filter: null,
          overrides: { priority: 1 },
        },
      },
      {
        actor: 'ada',
        action: 'session.resubmitted',
        project: DEFAULT_PROJECT_ID,
        details: { resubmissionId, sessionIds, refused: 0 },
      },
    ])
  })

  it('the record cannot be changed or removed while its sessions are there, only with their chains', async () => {
    const session = await factory.session({ status: 'ERROR', phase: 'EXHAUSTED' })
    const { resubmissionId } = await resubmit({ sessionIds: [session.id, randomUUID()] })
    for (const statement of [
      `UPDATE resubmissions SET actor = 'nobody'`,
      `UPDATE resubmissions SET overrides = '{"priority": 3}'`,
      `UPDATE resubmissions SET state = 'RUNNING', finished_at = NULL`,
      `UPDATE resubmission_items SET session_id = '${randomUUID()}'`,
      `UPDATE resubmission_items SET status = 'PENDING', child_session_id = NULL, code = NULL, message = NULL`,
    ]) {
      await expect(given.sql(statement), statement).rejects.toThrow('append only')
    }
    await expect(given.sql('DELETE FROM resubmissions')).rejects.toThrow('are kept')
    await expect(given.sql('DELETE FROM resubmission_items')).rejects.toThrow('are kept')
    await given.sql('DELETE FROM sessions WHERE chain_id = $1', [session.chainId])
    await given.sql('DELETE FROM resubmission_items WHERE resubmission_id = $1', [resubmissionId])
    await given.sql('DELETE FROM resubmissions')
  })
})

it('a limit on pending sessions refuses those beyond it, and they keep their retries', async () => {
  const sessions = [1, 2, 3].map(() =>
    factory.session({ status: 'ERROR', retryPolicy: { maxRetries: 1 }, phase: 'SCHEDULED' }),
  )
  const ids = (await Promise.all(sessions)).map(({ id }) => id)
  await given.sql(`INSERT INTO resource_policies (scope, scope_id, max_pending) VALUES ('PROJECT', $1, 2)`, [
    DEFAULT_PROJECT_ID,
  ])
  const shown = await resubmit({ sessionIds: ids })
  expect(shown.sessionIds).toHaveLength(2)
  expect(refusals(shown)).toEqual([`QUOTA_EXCEEDED ${ids[2]}`])
  expect(await decisionRow(given.db, ids[2]!)).toMatchObject({ phase: 'SCHEDULED' })
})

describe('freshCheckpoint', () => {
  const record = async (chainId: string) =>
    (await given.sql('SELECT generation, attempt, files FROM checkpoints WHERE chain_id = $1', [chainId]))[0]

  /** The running attempt fails, and its agent says that it left so many files in the directory of a generation. */
  async function endLeaving(generation: number, files: number): Promise<void> {
    for (const [kernelId, { status }] of given.agent.kernels) {
      if (status !== 'RUNNING') continue
      given.agent.observe(kernelId, { leftCheckpoint: { generation, files, bytes: files, newestAt: null } })
    }
    await failWith(given.server, given.agent, 3)
  }

  async function resubmitAndRun(sessionId: string, overrides: object): Promise<string> {
    const { sessionIds } = await resubmit({ sessionIds: [sessionId], overrides })
    await driveAll(given.server, given.agent, 'RUNNING')
    return sessionIds[0]!
  }

  it('starts a new generation, which reports of agents never do, and reports on an earlier one change nothing', async () => {
    const { server, agent } = given
    await given.sql(
      `WITH made AS (INSERT INTO chain_store_groups SELECT gen_random_uuid(), resource_group FROM agents WHERE id = $1 RETURNING store)
       UPDATE agents SET chain_store = made.store FROM made WHERE id = $1`,
      [agent.id],
    )
    const first = await sessionIn(server, agent, 'RUNNING')
    await endLeaving(2_147_483_647, 5)
    expect(await record(first)).toBeUndefined()
    const second = await resubmitAndRun(first, { freshCheckpoint: false })
    await endLeaving(0, 1)
    expect(await record(first)).toEqual({ generation: 0, attempt: 2, files: 1 })
    const third = await resubmitAndRun(second, { freshCheckpoint: true })
    expect(await record(first)).toEqual({ generation: 1, attempt: null, files: null })
    await endLeaving(0, 7)
    expect(await record(first)).toEqual({ generation: 1, attempt: null, files: null })
    const fourth = await resubmitAndRun(third, {})
    await endLeaving(1, 3)
    expect(await record(first)).toEqual({ generation: 1, attempt: 4, files: 3 })
    await resubmitAndRun(fourth, { freshCheckpoint: true })
    expect(await record(first)).toEqual({ generation: 2, attempt: null, files: null })
  })
})
