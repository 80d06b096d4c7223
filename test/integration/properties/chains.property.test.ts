/** Properties of chains: every promise holds, all chains end, and tries, retries and attempts never mix. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { FailureError } from '../../../src/domain/session/failure.ts'
import { fakeAgent, type FakeAgent } from '../../support/agents/fake-agent.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { insertRows } from '../../support/database/insert-rows.ts'
import { misbookedSlots } from '../../support/database/session-rows.ts'
import { checkProperty, forEachSeed } from '../../support/seeds.ts'
import { DEFAULT_PROJECT_ID, testServer, type TestServer } from '../../support/servers/test-server.ts'
import { driveAll, withoutDecisions } from '../../support/sessions/drive-session.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'
import { useResubmission } from '../../support/sessions/resubmission.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'
import { type ModelAttempt, newChain, RESCHEDULES_MAX, step, type Step, TRIES_MAX } from './counters.model.ts'
import { type Happening, smallFleet } from './small-fleet.ts'

describe('chains', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await testDatabase()
  })
  afterAll(() => database.close())

  const RUNS = 4
  const ROUNDS_MAX = 15

  const pick = fc.nat({ max: 50 })
  const agent = fc.constantFrom(0, 1)
  const happening: fc.Arbitrary<Happening> = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        does: fc.constant('create'),
        maxRetries: fc.nat({ max: 2 }),
        kernels: fc.integer({ min: 1, max: 3 }),
        mode: fc.constantFrom('SINGLE_NODE', 'MULTI_NODE'),
        cpu: fc.constantFrom('0.1', '0.7', '1', '2.5'),
      } as const),
    },
    { weight: 14, arbitrary: fc.constant<Happening>({ does: 'round' }) },
    {
      weight: 4,
      arbitrary: fc.record({ does: fc.constant('exit'), pick, code: fc.constantFrom(0, 1, 1, 137) } as const),
    },
    { weight: 2, arbitrary: fc.record({ does: fc.constant('cannot'), pick } as const) },
    { weight: 1, arbitrary: fc.record({ does: fc.constant('vanish'), pick } as const) },
    { weight: 1, arbitrary: fc.record({ does: fc.constant('repeat'), pick } as const) },
    { weight: 2, arbitrary: fc.record({ does: fc.constant('silence'), agent } as const) },
    { weight: 2, arbitrary: fc.record({ does: fc.constant('return'), agent } as const) },
    {
      weight: 1,
      arbitrary: fc.record({ does: fc.constant('shrink'), agent, cpu: fc.constantFrom('0', '0.5', '1', '4') } as const),
    },
    { weight: 1, arbitrary: fc.record({ does: fc.constant('terminate'), pick } as const) },
    { weight: 1, arbitrary: fc.record({ does: fc.constant('cancel'), pick } as const) },
    { weight: 1, arbitrary: fc.record({ does: fc.constant('hurry'), pick } as const) },
    {
      weight: 5,
      arbitrary: fc.record({ does: fc.constant('wait'), seconds: fc.constantFrom(1, 5, 20, 45, 130) } as const),
    },
    { weight: 1, arbitrary: fc.constant<Happening>({ does: 'restart' }) },
  )

  /** The scheduler of the group, and the limit on running sessions of the project. */
  const scheduling = fc.record({
    sequencer: fc.constantFrom('FIFO', 'LIFO', 'DRF'),
    selector: fc.constantFrom('DISPERSED', 'CONCENTRATED', 'ROUND_ROBIN'),
    maxRunning: fc.constantFrom(null, 2),
  })

  const ENDED = `SELECT id, status, result, exit_code, status_reason, status_data, terminated_at IS NOT NULL AS ended FROM sessions
  WHERE status IN ('TERMINATED', 'ERROR', 'CANCELLED') ORDER BY id`

  /** Each row that this finds breaks a promise. */
  const BROKEN = `
SELECT 'attempts beyond the budget' AS what, id FROM sessions WHERE retry_count > max_retries OR attempt > max_retries + 1
UNION ALL
SELECT 'a child of a parent that did not fail', s.id FROM sessions s JOIN sessions p ON p.id = s.parent_session_id
  WHERE p.result = 'SUCCESS' OR p.status NOT IN ('ERROR', 'CANCELLED')
UNION ALL
SELECT 'a hole in a chain', chain_id FROM sessions GROUP BY chain_id HAVING max(attempt) <> count(*) OR min(attempt) <> 1
UNION ALL
SELECT 'a child that its decision does not know', s.id FROM sessions s
  LEFT JOIN retry_decisions d ON d.child_session_id = s.id AND d.session_id = s.parent_session_id
  WHERE s.parent_session_id IS NOT NULL AND d.session_id IS NULL
UNION ALL
SELECT 'decided without a decision', s.id FROM sessions s LEFT JOIN retry_decisions d ON d.session_id = s.id
  WHERE s.retry_decided <> (d.session_id IS NOT NULL)
UNION ALL
SELECT 'a live kernel of a finished session', k.session_id FROM kernels k JOIN sessions s ON s.id = k.session_id
  WHERE s.status IN ('TERMINATED', 'ERROR', 'CANCELLED') AND k.status NOT IN ('TERMINATED', 'ERROR', 'CANCELLED')
UNION ALL
SELECT 'slots held by what has ended or waits', k.session_id FROM kernels k
  WHERE k.slots_held AND k.status IN ('PENDING', 'TERMINATED', 'ERROR', 'CANCELLED')`

  /** Likewise, of the rows that triggers keep. */
  const UNTRUE_CHAINS = `
SELECT 'a chain that is not what its newest attempt is' AS what, s.chain_id
  FROM (SELECT DISTINCT ON (chain_id) * FROM sessions ORDER BY chain_id, attempt DESC) s
  LEFT JOIN retry_decisions d ON d.session_id = s.id
  LEFT JOIN chains c ON c.chain_id = s.chain_id
  WHERE (c.tail_id, c.attempts, c.state::text, c.ended_at IS NULL) IS DISTINCT FROM (s.id, s.attempt, CASE
    WHEN d.phase IS NULL THEN 'LIVE' WHEN d.phase = 'SCHEDULED' THEN 'WAITING_RETRY' WHEN d.phase = 'HELD' THEN 'HELD'
    WHEN s.result = 'SUCCESS' THEN 'SUCCEEDED' WHEN s.result = 'FAILURE' THEN 'FAILED' ELSE 'CANCELLED' END,
    d.phase IS NULL OR d.phase IN ('SCHEDULED', 'HELD'))
    OR c.cause IS DISTINCT FROM (SELECT f.failure_cause FROM sessions f
      WHERE f.chain_id = s.chain_id AND f.failure_cause IS NOT NULL ORDER BY f.attempt DESC LIMIT 1)
UNION ALL
SELECT 'a chain without attempts', chain_id FROM chains WHERE chain_id NOT IN (SELECT chain_id FROM sessions)`

  const RUNNING = `SELECT count(*) AS n FROM sessions WHERE status NOT IN ('PENDING', 'TERMINATED', 'ERROR', 'CANCELLED')`

  const UNFINISHED = `
SELECT 'a session without an end' AS what, id FROM sessions WHERE status NOT IN ('TERMINATED', 'ERROR', 'CANCELLED')
UNION ALL
SELECT 'a retry that leads nowhere', session_id FROM retry_decisions WHERE phase IN ('UNDECIDED', 'SCHEDULED', 'HELD')
UNION ALL
SELECT 'a slot in use', agent_id FROM agent_slots WHERE used <> 0
UNION ALL
SELECT 'a retryable failure that was not retried', s.id FROM sessions s JOIN retry_decisions d ON d.session_id = s.id
  WHERE s.result = 'FAILURE' AND s.terminated_by IS NULL AND s.retry_count < s.max_retries
    AND d.phase NOT IN ('DISPATCHED', 'CANCELLED')`

  it('whatever happens, every promise holds at every moment, and all comes to an end', async () => {
    const { db } = database
    const seen = { children: 0 }
    const happeningsOf = fc.array(happening, { minLength: 10, maxLength: 45 })
    const property = fc.asyncProperty(scheduling, happeningsOf, async (options, happenings) => {
      await database.fresh()
      await db.query('UPDATE resource_groups SET sequencer = $1::sequencer, selector = $2::agent_selector', [
        options.sequencer,
        options.selector,
      ])
      if (options.maxRunning !== null) {
        await insertRows(db, 'resource_policies', [
          { scope: 'PROJECT', scope_id: DEFAULT_PROJECT_ID, slots: {}, max_running: options.maxRunning },
        ])
      }
      const fleet = await smallFleet(database)
      const ended = new Map<string, unknown>()

      async function expectPromises(): Promise<void> {
        for (const row of (await db.query<{ id: string }>(ENDED)).rows) {
          expect(ended.get(row.id) ?? row, 'terminal is final').toEqual(row)
          ended.set(row.id, row)
        }
        expect((await db.query(BROKEN)).rows).toEqual([])
        expect(await misbookedSlots(db)).toEqual([])
        const atOnce = await db.query<{ n: number }>(RUNNING)
        expect(atOnce.rows[0]!.n).toBeLessThanOrEqual(options.maxRunning ?? Number.POSITIVE_INFINITY)
        const running = fleet.running()
        expect(running, 'no kernel runs twice').toEqual([...new Set(running)])
        const twice = await db.query(
          `SELECT s.chain_id FROM kernels k JOIN sessions s ON s.id = k.session_id WHERE k.id = ANY($1::uuid[])
        GROUP BY 1 HAVING count(DISTINCT s.id) > 1`,
          [running],
        )
        expect(twice.rows, 'no two attempts run').toEqual([])
      }

      for (const one of happenings) {
        await fleet.happen(one)
        await expectPromises()
        // Decisions and children are made in rounds.
        if (one.does === 'round') expect((await db.query(UNTRUE_CHAINS)).rows).toEqual([])
      }
      await fleet.drain()
      await expectPromises()
      expect((await db.query(UNTRUE_CHAINS)).rows).toEqual([])
      expect((await db.query(UNFINISHED)).rows).toEqual([])
      seen.children += (
        await db.query<{ n: number }>('SELECT count(*) AS n FROM sessions WHERE attempt > 1')
      ).rows[0]!.n
    })
    await forEachSeed(async (seed) => {
      seen.children = 0
      // Which runs there are is a matter of chance; those that come to no retry say too little.
      for (let round = 0; seen.children === 0 && round < ROUNDS_MAX; round++)
        await fc.assert(property, { seed: seed + round, numRuns: RUNS, endOnFailure: true })
      expect(seen.children, 'the runs say something about retries').toBeGreaterThan(0)
    })
    // Some thousand looks of all services one after the other.
  })
})

describe('counters', () => {
  const given = useScheduling()
  const resubmit = useResubmission(given)

  const NO_CODE: FailureError = { name: 'code-unavailable', message: 'no answer' }

  const maxRetries = fc.nat({ max: 2 })
  const oneStep: fc.Arbitrary<Step> = fc.oneof(
    { weight: 5, arbitrary: fc.constant<Step>({ does: 'run' }) },
    {
      weight: 6,
      arbitrary: fc.record({
        does: fc.constant('exit'),
        code: fc.constantFrom(1, 1, 1, 1, 0),
        decided: fc.boolean(),
      } as const),
    },
    { weight: 5, arbitrary: fc.constant<Step>({ does: 'interrupt' }) },
    { weight: 5, arbitrary: fc.constant<Step>({ does: 'decide' }) },
    { weight: 5, arbitrary: fc.constant<Step>({ does: 'dispatch' }) },
    {
      weight: 4,
      arbitrary: fc.record({ does: fc.constant('resubmit'), maxRetries: fc.option(maxRetries) } as const),
    },
    { weight: 1, arbitrary: fc.constant<Step>({ does: 'restart' }) },
  )

  const STATES: Record<string, ModelAttempt['state']> = { RUNNING: 'RUNNING', ERROR: 'FAILED', TERMINATED: 'SUCCEEDED' }
  const CHAIN = `SELECT s.attempt, s.epoch, s.retry_count AS "retryCount", s.max_retries AS "maxRetries", s.origin, s.status,
    s.tries, s.reschedules, d.phase, s.id FROM sessions s LEFT JOIN retry_decisions d ON d.session_id = s.id
  WHERE s.chain_id = $1 ORDER BY s.attempt`

  async function stored(chainId: string): Promise<ModelAttempt[]> {
    const rows = await given.sql(CHAIN, [chainId])
    return rows.map(({ status, phase, id: _id, ...counters }) => ({
      ...(counters as unknown as ModelAttempt),
      state: STATES[status as string] ?? 'PENDING',
      next: phase === null ? 'UNDECIDED' : phase === 'SCHEDULED' ? 'SCHEDULED' : 'OVER',
    }))
  }

  /** One server after the other on the same database, with one agent. */
  function world(server: TestServer, agent: FakeAgent, chainId: string) {
    let present = server
    const { db } = given

    async function over(): Promise<void> {
      await present.run('detect-termination', 'terminate-sessions')
      await agent.comply()
      await present.run('promote-to-terminated')
    }

    /** The agent cannot prepare the kernel that it is told to prepare. */
    async function interrupt(): Promise<void> {
      await advanceClock(db, 60)
      await present.run('schedule-sessions', 'prepare-sessions')
      agent.kernels.clear()
      const { orders } = await agent.sync()
      agent.obey({ orders, forget: [] })
      for (const id of agent.kernels.keys()) agent.observe(id, { status: 'FAILED', error: NO_CODE })
      await agent.sync()
      await present.run('prepare-sessions')
      await withoutDecisions(present, over)
    }

    return async (what: Step, before: ModelAttempt): Promise<void> => {
      switch (what.does) {
        case 'run':
          await advanceClock(db, 60)
          return driveAll(present, agent, 'RUNNING')
        case 'exit':
          agent.exitAll(what.code)
          await agent.sync()
          return what.decided ? over() : withoutDecisions(present, over)
        case 'interrupt':
          return before.state === 'PENDING' ? interrupt() : undefined
        case 'decide':
          await present.run('decide-retries')
          return
        case 'dispatch':
          await advanceClock(db, 5)
          await present.run('dispatch-retries')
          return
        case 'resubmit': {
          const [last] = (await given.sql(CHAIN, [chainId])).slice(-1)
          const overrides = what.maxRetries === null ? {} : { retryPolicy: { maxRetries: what.maxRetries } }
          const shown = await resubmit({ sessionIds: [last!.id as string], overrides }, { server: present })
          expect(shown.sessionIds.length).toBe(before.state === 'FAILED' ? 1 : 0)
          return
        }
        case 'restart':
          present = testServer(db)
      }
    }
  }

  it('tries, retries and attempts never mix, whatever happens to a chain', async () => {
    const reached = { epochs: 0, retries: 0, reschedules: 0, tries: 0 }
    const property = fc.asyncProperty(
      maxRetries,
      fc.array(oneStep, { minLength: 12, maxLength: 30 }),
      async (budget, steps) => {
        await given.database.fresh()
        await given.sql(`UPDATE resource_groups SET tries_max = $1, reschedules_max = $2`, [TRIES_MAX, RESCHEDULES_MAX])
        const server = testServer(given.db)
        const agent = fakeAgent(server.gateway, { slots: { cpu: '64' } })
        await agent.register()
        const chainId = await server.create({ retryPolicy: { maxRetries: budget, retryDelay: 1 } })
        const happen = world(server, agent, chainId)
        let model = newChain(budget)
        for (const [index, what] of steps.entries()) {
          await happen(what, model.at(-1)!)
          model = step(model, what)
          expect(await stored(chainId), `after ${JSON.stringify(steps.slice(0, index + 1))}`).toEqual(model)
          reached.tries = Math.max(reached.tries, model.at(-1)!.tries)
        }
        reached.epochs = Math.max(reached.epochs, ...model.map(({ epoch }) => epoch))
        reached.retries = Math.max(reached.retries, ...model.map(({ retryCount }) => retryCount))
        reached.reschedules = Math.max(reached.reschedules, ...model.map(({ reschedules }) => reschedules))
      },
    )
    // A chain that passes through all three layers, whatever the random ones do.
    const interrupts = Array.from({ length: TRIES_MAX * (RESCHEDULES_MAX + 1) }, (): Step => ({ does: 'interrupt' }))
    const failure: Step[] = [{ does: 'run' }, { does: 'exit', code: 1, decided: false }]
    const retry: Step[] = [{ does: 'decide' }, { does: 'dispatch' }]
    const all: Step[] = [
      ...interrupts,
      ...retry,
      ...interrupts.slice(0, 3),
      { does: 'restart' },
      ...failure,
      { does: 'resubmit', maxRetries: 2 },
      ...interrupts.slice(0, 1),
      ...failure,
      ...retry,
      ...failure,
      { does: 'decide' },
      { does: 'resubmit', maxRetries: null },
      { does: 'dispatch' },
      { does: 'run' },
    ]
    await checkProperty(property, { numRuns: 4, examples: [[1, all]] })
    expect(reached.epochs).toBeGreaterThanOrEqual(2)
    expect(reached.retries).toBeGreaterThanOrEqual(1)
    expect([reached.reschedules, reached.tries]).toEqual([RESCHEDULES_MAX, TRIES_MAX - 1])
  })
})
