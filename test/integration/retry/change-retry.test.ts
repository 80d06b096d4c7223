/** Changes of a retry that is scheduled or held, and termination of its session. */
import { describe, expect, it } from 'vitest'
import type { RetryPolicy } from '../../../src/domain/retry/policy/policy.ts'
import { retryNow, updateRetry } from '../../../src/services/retry/change-retry.ts'
import { setRetrySwitch } from '../../../src/services/retry/retry-switches.ts'
import { terminateSession } from '../../../src/services/session/terminate-session.ts'
import { chainRows, decisionRow, events } from '../../support/database/session-rows.ts'
import { driveAll, endAll, failWith, sessionIn } from '../../support/sessions/drive-session.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'

const given = useScheduling()

describe('changes of a retry', () => {
  /** A session that exited with 3, with a retry due in an hour. */
  async function failed(policy: Partial<RetryPolicy> = {}, input: object = {}): Promise<string> {
    const { server, agent } = given
    const retryPolicy = { maxRetries: 2, retryDelay: 3600, jitter: 'NONE' as const, ...policy }
    const id = await sessionIn(server, agent, 'RUNNING', { retryPolicy, ...input })
    await failWith(server, agent, 3)
    return id
  }

  const update = (sessionId: string, policy: object) => updateRetry(given.server.context, { sessionId, policy })

  async function row(id: string): Promise<Record<string, unknown>> {
    const [found] = await given.sql(
      `SELECT d.phase, d.explanation, d.delay_ms, d.matched_rule, d.details,
       round(extract(epoch FROM d.due_at - reprise_now()))::int AS due, d.ready_at = d.due_at AS ready,
       s.max_retries, s.retry_policy AS policy, s.retry_policy_sources AS sources
     FROM retry_decisions d JOIN sessions s ON s.id = d.session_id WHERE s.id = $1`,
      [id],
    )
    return found!
  }

  describe('a scheduled retry', () => {
    it('gets another delay, counted from now, and the child inherits the policy', async () => {
      const { server, agent, db } = given
      const id = await failed()
      await advanceClock(db, 600)
      await update(id, { retryDelay: 60, maxRetries: 5 })
      expect(await row(id)).toMatchObject({
        phase: 'SCHEDULED',
        explanation: 'retry 1 of 5: exit code 3; waits 60 s; policy changed by ada',
        delay_ms: 60_000,
        due: 60,
        ready: true,
        max_retries: 5,
        policy: { maxRetries: 5, retryDelay: 60, jitter: 'NONE' },
        sources: { maxRetries: 'SESSION', retryDelay: 'SESSION', jitter: 'SESSION' },
      })
      await advanceClock(db, 40)
      expect(await server.run('dispatch-retries')).toEqual([0])
      await advanceClock(db, 21)
      expect(await server.run('dispatch-retries')).toEqual([1])
      await driveAll(server, agent, 'RUNNING')
      await failWith(server, agent, 3)
      const [, child] = await chainRows(db, id)
      expect(await decisionRow(db, child!.id)).toMatchObject({ explanation: 'retry 2 of 5: exit code 3; waits 60 s' })
    })

    it('follows added rules, with their effects', async () => {
      const id = await failed({}, { resourceSlots: [{ slot: 'cpu', amount: '2' }] })
      const scaleResources = [{ slot: 'cpu', factor: 2 }]
      await update(id, { rules: [{ match: { exitCodes: ['2-4'] }, action: 'RETRY', delay: 0, scaleResources }] })
      expect(await row(id)).toMatchObject({
        explanation: 'retry 1 of 2: exit code 3 matched rules[0] (RETRY); cpu 2 → 4; waits 0 s; policy changed by ada',
        matched_rule: 0,
        details: { growth: { resourceSlots: { cpu: '4' } } },
      })
      expect(await given.server.run('dispatch-retries')).toEqual([1])
      expect(await given.sql('SELECT resource_slots FROM sessions WHERE parent_session_id = $1', [id])).toEqual([
        { resource_slots: { cpu: '4' } },
      ])
    })

    it('gets other resources, which stay when it is decided again, and for the attempts after it', async () => {
      const { server, agent, db, sql } = given
      const id = await failed({ retryDelay: 1 }, { resourceSlots: [{ slot: 'cpu', amount: '2' }] })
      const change = (input: object) => updateRetry(server.context, { sessionId: id, ...input })
      await change({
        resourceSlots: [
          { slot: 'cpu', amount: '3' },
          { slot: 'mem', amount: '1g' },
        ],
      })
      expect(await row(id)).toMatchObject({
        explanation: 'retry 1 of 2: exit code 3; waits 1 s; cpu 2 → 3, mem none → 1 GiB; resources changed by ada',
      })
      await change({ policy: { retryDelay: 2 }, resourceSlots: [{ slot: 'mem', amount: '0' }] })
      expect(await row(id)).toMatchObject({
        explanation: 'retry 1 of 2: exit code 3; waits 2 s; cpu 2 → 3; policy and resources changed by ada',
      })
      await change({ policy: { maxRetries: 3 } })
      expect(await row(id)).toMatchObject({ details: { growth: { resourceSlots: { cpu: '3' } } } })
      const log = await sql(
        `SELECT details -> 'given' AS given FROM audit_log WHERE action = 'retry.update' ORDER BY id`,
      )
      expect(log.map((entry) => entry['given'])).toEqual([
        { resourceSlots: { cpu: '3', mem: String(2 ** 30) } },
        { retryDelay: 2, resourceSlots: { mem: '0' } },
        { maxRetries: 3 },
      ])
      for (let retry = 0; retry < 2; retry++) {
        await advanceClock(db, 3)
        await server.run('dispatch-retries')
        await driveAll(server, agent, 'RUNNING')
        await failWith(server, agent, 3)
      }
      const slots = await sql('SELECT resource_slots AS slots FROM sessions WHERE chain_id = $1 ORDER BY attempt', [id])
      expect(slots).toEqual([{ slots: { cpu: '2' } }, { slots: { cpu: '3' } }, { slots: { cpu: '3' } }])
    })

    it.each([
      [{}, [{ path: 'policy' }]],
      [
        { resourceSlots: [{ slot: 'cpu', amount: 'much' }], policy: { maxRetries: -1 } },
        [{ path: 'policy.maxRetries' }, { path: 'resourceSlots.0.amount' }],
      ],
      [{ resources: [] }, [{ path: 'resources', message: 'Unknown field' }]],
    ])('is not changed by %j', async (input, issues) => {
      const id = await failed()
      await expect(updateRetry(given.server.context, { sessionId: id, ...input })).rejects.toMatchObject({
        code: 'VALIDATION_FAILED',
        issues,
      })
    })

    it('has an event and an audit entry, with the earlier value', async () => {
      const id = await failed()
      await update(id, { retryDelay: 60 })
      expect((await events(given.db, id)).slice(-2)).toEqual(['session.retry_scheduled', 'session.retry_scheduled'])
      const [told] = await given.sql(`SELECT data FROM session_events ORDER BY id DESC LIMIT 1`)
      expect(told!['data']).toMatchObject({ delaySeconds: 60, reason: expect.stringMatching(/policy changed by ada$/) })
      expect(
        await given.sql(`SELECT actor, session_id, details FROM audit_log WHERE action = 'retry.update'`),
      ).toMatchObject([
        {
          actor: 'ada',
          session_id: id,
          details: { phase: 'SCHEDULED', given: { retryDelay: 60 }, before: { retryDelay: 3600 } },
        },
      ])
    })

    it('is exhausted by a smaller budget', async () => {
      const { server, agent, db } = given
      const id = await failed({ retryDelay: 1 })
      await advanceClock(db, 2)
      await server.run('dispatch-retries')
      await driveAll(server, agent, 'RUNNING')
      await failWith(server, agent, 3)
      const [, child] = await chainRows(db, id)
      await update(child!.id, { maxRetries: 1 })
      expect(await row(child!.id)).toMatchObject({
        phase: 'EXHAUSTED',
        explanation: 'retries exhausted: 1 of 1 retry used; exit code 3; policy changed by ada',
        due: null,
      })
      expect((await events(db, child!.id)).at(-1)).toBe('session.retry_exhausted')
    })

    it.each([
      [{ maxRetries: 0 }, 'NONE', 'not retried: exit code 3; maxRetries is 0; policy changed by ada'],
      [
        { eligibleCauses: ['OOM_KILLED'] },
        'NOT_ELIGIBLE',
        'not retried: exit code 3; a failed program is not among the eligible causes; policy changed by ada',
      ],
    ])('is cancelled by %j, and the dependents of the chain do not wait', async (policy, phase, explanation) => {
      const { server, db, sql } = given
      const id = await failed()
      const dependent = await server.create({ dependsOn: [id] })
      await server.run('schedule-sessions')
      await update(id, policy)
      expect(await row(id)).toMatchObject({ phase, explanation })
      expect((await events(db, id)).at(-1)).toBe('session.retry_cancelled')
      await server.run('schedule-sessions')
      expect(await sql('SELECT status FROM sessions WHERE id = $1', [dependent])).toEqual([{ status: 'CANCELLED' }])
      await expect(update(id, { maxRetries: 3 })).rejects.toMatchObject({ code: 'NO_PENDING_RETRY' })
    })

    it('has no event if its policy disables events', async () => {
      const id = await failed()
      await update(id, { emitRetryEvents: false, maxRetries: 0 })
      expect((await events(given.db, id)).filter((line) => line.includes('retry'))).toEqual(['session.retry_scheduled'])
    })

    it('draws from the delay before, though the policy did not ask for it before', async () => {
      const { server, agent, db } = given
      const id = await failed({ retryDelay: 100 })
      await advanceClock(db, 101)
      await server.run('dispatch-retries')
      await driveAll(server, agent, 'RUNNING')
      await failWith(server, agent, 3)
      const [, child] = await chainRows(db, id)
      await update(child!.id, { jitter: 'DECORRELATED', retryDelay: 10 })
      expect(await decisionRow(db, child!.id)).toMatchObject({
        explanation: expect.stringMatching(/waits [\d.]+ s, drawn from 10 s to 300 s; policy changed by ada$/),
      })
    })
  })

  it('a held retry is released, and held again where the reason lasts', async () => {
    const { server, db } = given
    const id = await failed({ retryDelay: 1 })
    await setRetrySwitch(server.context, { scope: 'CLUSTER', disabled: true })
    await advanceClock(db, 2)
    await server.run('dispatch-retries')
    expect(await decisionRow(db, id)).toMatchObject({ phase: 'HELD' })
    await update(id, { maxElapsed: 600, retryDelay: 2 })
    expect(await decisionRow(db, id)).toMatchObject({ phase: 'SCHEDULED', holdReason: null })
    await advanceClock(db, 3)
    await server.run('dispatch-retries')
    expect(await decisionRow(db, id)).toMatchObject({ phase: 'HELD', holdReason: 'DISABLED' })
  })

  it.each<[object, string[]]>([
    [{}, ['policy']],
    [{ maxRetries: -1, jitterRatio: 3 }, ['policy.maxRetries', 'policy.jitterRatio']],
    [{ unknown: 1 }, ['policy.unknown']],
    [7 as never, ['policy']],
  ])('the policy %j is refused, and changes nothing', async (policy, paths) => {
    const id = await failed()
    const before = await row(id)
    const error: unknown = await update(id, policy).catch((refusal: unknown) => refusal)
    expect(error).toMatchObject({ code: 'VALIDATION_FAILED' })
    expect((error as { issues: { path: string }[] }).issues.map(({ path }) => path)).toEqual(paths)
    expect(await row(id)).toMatchObject({ explanation: before['explanation'], policy: before['policy'] })
  })

  it('a stored policy that cannot be read is refused, not guessed at', async () => {
    const id = await failed()
    await given.sql(`UPDATE sessions SET retry_policy = '{"maxRetries": "many"}' WHERE id = $1`, [id])
    await expect(update(id, { retryDelay: 1 })).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      message: expect.stringMatching(/^the stored retry policy is not valid/),
    })
  })

  it('retryNow on a held retry, however often, leaves one note in its explanation', async () => {
    const { server, db } = given
    const id = await failed({ retryDelay: 1 })
    await setRetrySwitch(server.context, { scope: 'CLUSTER', disabled: true })
    const explanation = 'retry 1 of 2: exit code 3; waits 1 s; made due at once by'
    for (const name of ['ada', 'bob; made due at once by eve', 'bob', 'ada', 'ada']) {
      await retryNow({ ...server.context, viewer: { ...server.context.viewer, name } }, { sessionId: id })
      expect(await decisionRow(db, id)).toMatchObject({ explanation: `${explanation} ${name}` })
      await advanceClock(db, 2)
      await server.run('dispatch-retries')
      expect(await decisionRow(db, id)).toMatchObject({ phase: 'HELD', explanation: `${explanation} ${name}` })
    }
  })
})

describe('termination of a waiting session', () => {
  async function failed(): Promise<string> {
    const { server, agent } = given
    const id = await sessionIn(server, agent, 'RUNNING', {
      retryPolicy: { maxRetries: 2, retryDelay: 10, jitter: 'NONE' },
    })
    await failWith(server, agent, 3)
    return id
  }

  const terminate = (sessionId: string, reason?: string) =>
    terminateSession(given.server.context, { sessionId, reason })

  it('terminateSession cancels the retry that a session waits for, once, and records who and why', async () => {
    const { server, db, sql } = given
    const id = await failed()
    await terminate(id, 'wrong input')
    expect(await decisionRow(db, id)).toMatchObject({
      phase: 'CANCELLED',
      explanation: 'retry 1 of 2: exit code 3; waits 10 s; cancelled by ada: wrong input',
    })
    expect((await events(db, id)).at(-1)).toBe('session.retry_cancelled')
    expect(await sql(`SELECT actor FROM audit_log WHERE action = 'retry.cancel'`)).toEqual([{ actor: 'ada' }])
    await advanceClock(db, 60)
    expect(await server.run('dispatch-retries')).toEqual([0])
    expect(await chainRows(db, id)).toHaveLength(1)
    await expect(terminate(id)).rejects.toMatchObject({ code: 'SESSION_ALREADY_FINISHED' })
  })

  it('a held one as well', async () => {
    const { server, db } = given
    const id = await failed()
    await setRetrySwitch(server.context, { scope: 'CLUSTER', disabled: true })
    await advanceClock(db, 11)
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
})
