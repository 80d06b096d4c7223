/** Resubmitted sessions: their epoch, their budget of retries, and overrides. */
import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import { ENVIRON_BYTES_MAX } from '../../../src/domain/limits.ts'
import type { CreateSessionInput } from '../../../src/services/session/create-session-input.ts'
import { createFactories } from '../../support/sessions/factories.ts'
import { failWith, sessionIn, driveAll } from '../../support/sessions/drive-session.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'
import { useResubmission, refusals, resubmissionRow } from '../../support/sessions/resubmission.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'
import { chainRows, decisionRow, events, sessionRow } from '../../support/database/session-rows.ts'

const given = useScheduling()
const resubmit = useResubmission(given)
let factory: ReturnType<typeof createFactories>
beforeEach(() => {
  factory = createFactories(given.db)
})

const spec = async (id: string) =>
  (
    await given.sql(
      `SELECT resource_slots AS slots, batch_timeout AS timeout, environ, priority, resource_group AS "group", allow_agents AS allow,
        avoid_agents AS avoid, avoid_groups AS "avoidGroups", retry_policy AS policy, retry_policy_sources AS sources,
        max_retries AS "maxRetries", epoch, retry_count AS "retryCount", uncounted_retries AS uncounted, attempt, origin,
        creation_id AS "creationId", retry_cause AS cause, epoch_started_at = created_at AS "newEpoch", labels FROM sessions WHERE id = $1`,
      [id],
    )
  )[0]!

describe('a session whose retries are used up', () => {
  async function exhausted(): Promise<{ first: string; last: string }> {
    const { server, agent, db } = given
    const first = await sessionIn(server, agent, 'RUNNING', {
      creationId: 'mine',
      labels: [{ key: 'a', value: 'b' }],
      environ: [
        { name: 'KEPT', value: '1' },
        { name: 'CHANGED', value: 'old' },
      ],
      resourceSlots: [
        { slot: 'cpu', amount: '1' },
        { slot: 'mem', amount: '1g' },
      ].slice(0, 1),
      batchTimeout: 60,
      retryPolicy: { maxRetries: 1, retryDelay: 1, jitter: 'NONE' },
    })
    await failWith(server, agent, 3)
    await advanceClock(db, 5)
    await server.run('dispatch-retries')
    await driveAll(server, agent, 'RUNNING')
    await failWith(server, agent, 4)
    const chain = await chainRows(db, first)
    expect(await decisionRow(db, chain[1]!.id)).toMatchObject({ phase: 'EXHAUSTED' })
    return { first, last: chain[1]!.id }
  }

  it('gets a new budget, and its history continues', async () => {
    const { last } = await exhausted()
    const shown = await resubmit({ sessionIds: [last] })
    expect(shown.refused).toEqual([])
    const child = shown.sessionIds[0]!
    expect(await spec(child)).toMatchObject({
      epoch: 1,
      retryCount: 0,
      uncounted: 0,
      attempt: 3,
      origin: 'RESUBMISSION',
      creationId: 'mine:resubmission:1',
      cause: 'KERNEL_NONZERO_EXIT',
      newEpoch: true,
      timeout: 60,
      labels: { a: 'b' },
      maxRetries: 1,
    })
    expect(await sessionRow(given.db, child)).toMatchObject({ parent: last, status: 'PENDING' })
    expect(await events(given.db, child)).toEqual(['session.created →PENDING'])
    expect(await decisionRow(given.db, last)).toMatchObject({ phase: 'EXHAUSTED', child: null })
    expect(await resubmissionRow(given.db, shown.resubmissionId)).toEqual({
      state: 'COMPLETED',
      total: 1,
      done: 1,
      refused: 0,
      actor: 'ada',
      abortedBy: null,
      finished: true,
    })
  })

  it('keeps overrides through the automatic retries of its epoch, and in a further epoch', async () => {
    const { server, agent, db } = given
    const { first, last } = await exhausted()
    const other = await factory.agent('other')
    const overrides = {
      resourceSlots: [
        { slot: 'cpu', amount: '2' },
        { slot: 'fpga', amount: '0' },
      ],
      batchTimeout: 120,
      environ: [
        { name: 'CHANGED', value: 'new' },
        { name: 'ADDED', value: '2' },
      ],
      priority: 0,
      allowAgents: [agent.id],
      avoidAgents: [other],
      retryPolicy: { maxRetries: 2, rules: [{ match: { exitCodes: [9] }, action: 'FAIL' }] },
    }
    const shown = await resubmit({ sessionIds: [last], overrides })
    const expected = {
      slots: { cpu: '2' },
      timeout: 120,
      environ: [
        { name: 'KEPT', value: '1' },
        { name: 'CHANGED', value: 'new' },
        { name: 'ADDED', value: '2' },
      ],
      priority: 0,
      allow: [agent.id],
      avoid: [other],
      maxRetries: 2,
      policy: expect.objectContaining({ maxRetries: 2, retryDelay: 1, jitter: 'NONE', rules: [expect.anything()] }),
      sources: { maxRetries: 'SESSION', rules: 'SESSION', retryDelay: 'SESSION', jitter: 'SESSION' },
      epoch: 1,
    }
    expect(await spec(shown.sessionIds[0]!)).toMatchObject({ ...expected, retryCount: 0, attempt: 3 })
    await driveAll(server, agent, 'RUNNING')
    await failWith(server, agent, 1)
    await advanceClock(db, 5)
    await server.run('dispatch-retries')
    const retry = (await chainRows(db, first))[3]!
    expect(await spec(retry.id)).toMatchObject({
      ...expected,
      origin: 'AUTO_RETRY',
      retryCount: 1,
      attempt: 4,
      creationId: 'mine:retry:3',
      newEpoch: false,
    })
    await driveAll(server, agent, 'RUNNING')
    await failWith(server, agent, 9)
    const again = await resubmit({ sessionIds: [retry.id], overrides: { batchTimeout: null, allowAgents: [] } })
    expect(await spec(again.sessionIds[0]!)).toMatchObject({
      ...expected,
      timeout: null,
      allow: [],
      epoch: 2,
      retryCount: 0,
      attempt: 5,
      creationId: 'mine:resubmission:2',
    })
  })
})

describe('overrides', () => {
  const failed = () => factory.session({ status: 'ERROR', retryPolicy: { maxRetries: 1 }, phase: 'EXHAUSTED' })

  it('all their faults are reported at once, and nothing is done', async () => {
    const session = await failed()
    const unknown = randomUUID()
    const call = resubmit({
      sessionIds: [session.id],
      overrides: {
        resourceSlots: [{ slot: 'cpu', amount: 'much' }],
        environ: [{ name: 'REPRISE_X', value: '1' }],
        priority: 101,
        batchTimeout: -1,
        resourceGroup: 'nowhere',
        allowAgents: [unknown],
        avoidAgents: [unknown],
        retryPolicy: { maxRetries: -1, rules: [{ match: {}, action: 'FAIL', delay: 1 }], retryDely: 3 },
      },
    })
    const error = (await call.catch((refused: unknown) => refused)) as { code: string; issues: { path: string }[] }
    expect(error.code).toBe('VALIDATION_FAILED')
    expect(error.issues.map(({ path }) => path).toSorted()).toEqual(
      [
        'overrides.resourceSlots.0.amount',
        'overrides.environ.0.name',
        'overrides.priority',
        'overrides.batchTimeout',
        'overrides.resourceGroup',
        'overrides.allowAgents.0',
        'overrides.avoidAgents.0',
        'overrides.retryPolicy.maxRetries',
        'overrides.retryPolicy.rules.0.delay',
        'overrides.retryPolicy.retryDely',
      ].toSorted(),
    )
    expect(await given.sql('SELECT FROM resubmissions')).toEqual([])
    expect(await chainRows(given.db, session.chainId)).toHaveLength(1)
  })

  it('that contradict each other are refused', async () => {
    const session = await failed()
    await given.sql(`INSERT INTO resource_groups (name) VALUES ('far')`)
    const { id } = given.agent
    await expect(
      resubmit({ sessionIds: [session.id], overrides: { allowAgents: [id], avoidAgents: [id] } }),
    ).rejects.toMatchObject({ issues: [{ path: 'overrides.avoidAgents.0' }] })
    await expect(
      resubmit({ sessionIds: [session.id], overrides: { resourceGroup: 'far', allowAgents: [id] } }),
    ).rejects.toMatchObject({ issues: [{ path: 'overrides.allowAgents.0' }] })
  })

  it('of agents that the session’s own group does not have refuse that session alone', async () => {
    await given.sql(`INSERT INTO resource_groups (name) VALUES ('far')`)
    const [near, far] = [await failed(), await failed()]
    await given.sql(`UPDATE sessions SET resource_group = 'far' WHERE id = $1`, [far.id])
    const shown = await resubmit({ sessionIds: [near.id, far.id], overrides: { allowAgents: [given.agent.id] } })
    expect(shown.sessionIds).toHaveLength(1)
    expect(refusals(shown)).toEqual([`VALIDATION_FAILED ${far.id}`])
  })

  it('that send it to a group end that this group was avoided', async () => {
    const session = await failed()
    await given.sql(`UPDATE sessions SET avoid_groups = '{default,other}' WHERE id = $1`, [session.id])
    const shown = await resubmit({ sessionIds: [session.id], overrides: { resourceGroup: 'default' } })
    expect(await spec(shown.sessionIds[0]!)).toMatchObject({ group: 'default', avoidGroups: ['other'] })
  })

  it('that make a session too large refuse that session alone', async () => {
    const [large, small] = [await failed(), await failed()]
    await given.sql(
      `UPDATE sessions SET environ = (SELECT jsonb_agg(jsonb_build_object('name', 'V' || n, 'value', '')) FROM generate_series(1, 500) AS n)
       WHERE id = $1`,
      [large.id],
    )
    const overrides = { environ: [{ name: 'ONE_MORE', value: '' }] }
    const shown = await resubmit({ sessionIds: [large.id, small.id], overrides })
    expect(refusals(shown)).toEqual([`VALIDATION_FAILED ${large.id}`])
    expect(shown.sessionIds).toHaveLength(1)
  })
})

describe('an environment that grows with overrides', () => {
  const taking = (name: string, bytes: number) => ({ name, value: 'x'.repeat(bytes - name.length - 10) })
  const HALF = ENVIRON_BYTES_MAX / 2
  const four = (prefix: string) => [0, 1, 2, 3].map((n) => taking(`${prefix}${n}`, HALF / 4 - 16))
  // Four variables of each kind leave 128 bytes, and two more share them.
  const LEFT = 128

  async function failedWith(input: Partial<CreateSessionInput>): Promise<string> {
    const { server, agent } = given
    const id = await sessionIn(server, agent, 'RUNNING', { ...input, retryPolicy: { maxRetries: 0 } })
    await failWith(server, agent, 1)
    return id
  }

  it.each([
    ['environ', 'environ'],
    ['environ', 'secretEnviron'],
    ['secretEnviron', 'environ'],
    ['secretEnviron', 'secretEnviron'],
  ] as const)('may be as large as one that is created, and no larger: %s and more %s', async (before, more) => {
    const [large, larger] = [await failedWith({ [before]: four('A') }), await failedWith({ [before]: four('A') })]
    const override = (bytes: number) => ({ [more]: [...four('B'), taking('C', bytes)] })
    const allowed = await resubmit({ sessionIds: [large], overrides: override(LEFT) })
    expect(allowed.refused).toEqual([])
    const { refused } = await resubmit({ sessionIds: [larger], overrides: override(LEFT + 1) })
    expect(refused).toMatchObject([{ code: 'VALIDATION_FAILED', sessionId: larger }])
    expect(refused[0]!.message).toContain(
      `overrides.${more}: its variables would take ${ENVIRON_BYTES_MAX + 1} bytes, 10 more for each than name and value, and may take ${ENVIRON_BYTES_MAX}`,
    )
  })

  it('does not keep a session from being resubmitted with other overrides', async () => {
    const id = await failedWith({ environ: four('A') })
    await given.sql(
      `UPDATE sessions SET environ = (SELECT jsonb_agg(jsonb_build_object('name', 'V' || n, 'value', repeat('x', 120000)))
         FROM generate_series(1, 10) AS n) WHERE id = $1`,
      [id],
    )
    expect((await resubmit({ sessionIds: [id], overrides: { priority: 20 } })).refused).toEqual([])
  })
})

describe('successful sessions', () => {
  it('are run again with includeSucceeded, in a new epoch, and their success is kept', async () => {
    const { server, agent, db } = given
    const id = await sessionIn(server, agent, 'RUNNING', { retryPolicy: { maxRetries: 2 } })
    await failWith(server, agent, 0)
    expect(await decisionRow(db, id)).toMatchObject({ phase: 'SUCCEEDED' })
    expect(refusals(await resubmit({ sessionIds: [id] }))).toEqual([`SESSION_SUCCEEDED ${id}`])
    const shown = await resubmit({ sessionIds: [id], includeSucceeded: true, overrides: { priority: 20 } })
    expect(shown.refused).toEqual([])
    const [parent, child] = await chainRows(db, id)
    expect(parent).toMatchObject({ result: 'SUCCESS', status: 'TERMINATED' })
    expect(child).toMatchObject({ id: shown.sessionIds[0], parent: id, origin: 'RESUBMISSION', cause: null })
    expect(await spec(child!.id)).toMatchObject({ epoch: 1, attempt: 2, retryCount: 0, priority: 20, cause: null })
    expect(await decisionRow(db, id)).toMatchObject({ phase: 'SUCCEEDED' })
    await driveAll(server, agent, 'RUNNING')
    await failWith(server, agent, 0)
    expect(await given.sql('SELECT state FROM chains')).toEqual([{ state: 'SUCCEEDED' }])
    expect(
      await given.sql(
        `SELECT details -> 'includeSucceeded' AS asked FROM audit_log WHERE action = 'session.resubmit' ORDER BY id`,
      ),
    ).toEqual([{ asked: false }, { asked: true }])
  })

  it('also before a decision, and together with failed ones', async () => {
    const { server, agent, db } = given
    const id = await sessionIn(server, agent, 'RUNNING', { retryPolicy: { maxRetries: 2 } })
    agent.exitAll(0)
    await agent.sync()
    await server.run('detect-termination', 'terminate-sessions')
    await agent.comply()
    await server.run('promote-to-terminated')
    const failed = await factory.session({ status: 'ERROR', retryPolicy: { maxRetries: 1 }, phase: 'EXHAUSTED' })
    const shown = await resubmit({ sessionIds: [id, failed.id], includeSucceeded: true })
    expect(shown).toMatchObject({ refused: [], sessionIds: [expect.any(String), expect.any(String)] })
    await server.run('decide-retries')
    expect(await decisionRow(db, id)).toMatchObject({ phase: 'SUCCEEDED', explanation: 'succeeded on attempt 1' })
    expect(await chainRows(db, id)).toHaveLength(2)
  })

  it('and no more than once: it has a child then', async () => {
    const { id } = await factory.session({ status: 'TERMINATED', retryPolicy: { maxRetries: 1 } })
    const input = { sessionIds: [id], includeSucceeded: true }
    expect((await resubmit(input)).sessionIds).toHaveLength(1)
    expect(refusals(await resubmit(input))).toEqual([`SESSION_HAS_CHILD ${id}`])
  })

  it('is another request: the same client key without it is a conflict', async () => {
    const { id } = await factory.session({ status: 'TERMINATED', retryPolicy: { maxRetries: 1 } })
    const input = { sessionIds: [id], clientKey: 'again' }
    const first = await resubmit({ ...input, includeSucceeded: true })
    expect(await resubmit({ ...input, includeSucceeded: true })).toEqual(first)
    await expect(resubmit({ ...input, includeSucceeded: false })).rejects.toMatchObject({ code: 'CLIENT_KEY_REUSED' })
  })
})
