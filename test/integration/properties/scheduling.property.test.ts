/** Properties of scheduling: a promotion moves the right sessions, and no slot of an agent is sold twice. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type PromotionName, PROMOTIONS } from '../../../src/domain/session/lifecycle.ts'
import { observed, fakeAgent, type FakeAgent, type Report } from '../../support/agents/fake-agent.ts'
import { misbookedSlots } from '../../support/database/session-rows.ts'
import { checkProperty } from '../../support/seeds.ts'
import type { ServiceName } from '../../support/servers/test-server.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'
import { blocked, type ModelSession, promoted } from './promotions.model.ts'

const given = useScheduling()

describe('promotions', () => {
  const ERROR = { name: 'executor-failed', message: 'it failed' } as const
  /** The next report that an agent may send about a kernel, by the last one. */
  const NEXT: Readonly<Record<string, readonly Report[]>> = {
    PULLING: [{ status: 'PREPARED' }, { status: 'PREPARED' }, { status: 'FAILED', error: ERROR }],
    PREPARED: [{ status: 'FAILED', error: ERROR }],
    RUNNING: [
      { status: 'EXITED', exitCode: 0 },
      { status: 'EXITED', exitCode: 3 },
      { status: 'EXITED', exitCode: 143, stopped: true },
      { status: 'EXITED', exitCode: null },
    ],
  }

  const PROMOTION_NAMES = Object.keys(PROMOTIONS) as PromotionName[]
  const OTHERS: readonly ServiceName[] = [
    'schedule-sessions',
    'prepare-sessions',
    'start-sessions',
    'terminate-sessions',
  ]

  const nat = fc.nat({ max: 100 })
  const turn = fc.record({
    /** The orders that are obeyed; the others are given again, and what is to be prepared is pulled meanwhile. */
    obeyed: fc.array(fc.boolean(), { minLength: 1, maxLength: 5 }),
    reports: fc.array(fc.record({ kernel: nat, report: nat }), { maxLength: 8 }),
    /** Whether the second agent is lost for this turn. */
    lost: fc.constantFrom(false, false, true),
    /** Services run side by side, so any may come first. */
    services: fc.shuffledSubarray<ServiceName>([...PROMOTION_NAMES, ...OTHERS], { minLength: 3 }),
  })
  type Turn = typeof turn extends fc.Arbitrary<infer Value> ? Value : never
  const ORDERLY: Turn = { obeyed: [true], reports: [], lost: false, services: [] }
  /** All are prepared; then one kernel of each agent fails before its session is promoted. */
  const FAILED_WHEN_PREPARED: Turn[] = [
    ORDERLY,
    {
      ...ORDERLY,
      reports: [
        { kernel: 0, report: 0 },
        { kernel: 5, report: 0 },
      ],
      services: PROMOTION_NAMES,
    },
  ]
  const ALL_SERVICES: Turn = { ...ORDERLY, services: [...OTHERS, ...PROMOTION_NAMES] }
  /** All run; then one kernel of a session fails, and the other goes on. */
  const FAILED_WHILE_OTHERS_RUN: Turn[] = [
    ...Array.from({ length: 5 }, () => ALL_SERVICES),
    { ...ALL_SERVICES, reports: [{ kernel: 0, report: 1 }] },
  ]
  /** All run; then one session succeeds and one fails, each with all of its kernels. */
  const ENDED_WHOLE: Turn[] = [
    ...Array.from({ length: 5 }, () => ALL_SERVICES),
    {
      ...ALL_SERVICES,
      reports: [
        { kernel: 0, report: 0 },
        { kernel: 1, report: 1 },
      ],
    },
  ]
  /** One of two kernels fails before its session is promoted to RUNNING; later the other has been stopped, too. */
  const FAILED_AT_ONCE: Turn[] = [
    ALL_SERVICES,
    { ...ALL_SERVICES, reports: [{ kernel: 0, report: 1 }] },
    ALL_SERVICES,
    ALL_SERVICES,
  ]
  const PULLED: Turn[] = [
    { ...ALL_SERVICES, obeyed: [false] },
    { ...ALL_SERVICES, reports: [{ kernel: 0, report: 0 }] },
  ]
  const PREPARED_ON_A_LOST_AGENT: Turn[] = [{ ...ALL_SERVICES, lost: true }]
  const sizes = fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 6, maxLength: 6 })

  const SNAPSHOT = `
SELECT s.id, s.status, s.result, s.exit_code AS "exitCode", s.tries,
  s.cluster_size > 1 AND s.status_data ? 'kernel' IS TRUE AS "endedByKernel",
  (SELECT json_agg(json_build_object('status', k.status, 'main', k.role = 'main', 'assignment', k.assignment,
      'agentLost', coalesce(a.status = 'LOST', false), 'started', k.started_at IS NOT NULL,
      'failed', k.error IS NOT NULL, 'exitCode', k.exit_code, 'stopped', k.stopped) ORDER BY k.role, k.index)
    FROM kernels k LEFT JOIN agents a ON a.id = k.agent_id WHERE k.session_id = s.id) AS kernels,
  ARRAY(SELECT data ->> 'from' || '→' || (data ->> 'to') FROM session_events e
    WHERE e.session_id = s.id AND e.data ? 'from' ORDER BY e.id) AS events,
  ARRAY(SELECT phase || ' ' || from_status || '→' || to_status FROM scheduling_history h
    WHERE h.entity_id = s.id ORDER BY h.id) AS history
FROM sessions s ORDER BY s.id`

  async function snapshot(): Promise<Map<string, ModelSession>> {
    const rows = (await given.sql(SNAPSHOT)) as unknown as (ModelSession & { id: string })[]
    return new Map(rows.map(({ id, ...session }) => [id, session]))
  }

  async function report(agents: readonly FakeAgent[], { obeyed, reports }: Turn): Promise<void> {
    for (const agent of agents) {
      const { orders } = await agent.sync()
      for (const [n, order] of orders.entries()) {
        if (obeyed[n % obeyed.length]) agent.obey({ orders: [order], forget: [] })
        else if (order.want === 'PREPARE') {
          const { kernelId } = order.spec
          agent.kernels.set(kernelId, observed(kernelId, order.assignment, { status: 'PULLING' }))
        }
      }
    }
    const kernels = agents.flatMap((agent) => [...agent.kernels.keys()].map((id) => ({ agent, id })))
    for (const one of reports) {
      const kernel = kernels[one.kernel % Math.max(1, kernels.length)]
      const next = kernel && NEXT[kernel.agent.kernels.get(kernel.id)!.status]
      if (next) kernel.agent.observe(kernel.id, next[one.report % next.length]!)
    }
    for (const agent of agents) await agent.sync()
  }

  it(
    'each promotion agrees with the model, whatever the agents report and in whatever order',
    { timeout: 480_000 },
    async () => {
      const moved = new Set<string>()
      const guarded = new Set<string>()

      async function promote(name: PromotionName): Promise<void> {
        const before = await snapshot()
        await given.server.run(name)
        for (const [id, after] of await snapshot()) {
          const was = before.get(id)!
          expect(after, name).toEqual(promoted(name, was))
          if (after.status !== was.status) moved.add(`${was.status}→${after.status}`)
          // Nothing but the failed kernel is in its way.
          const sound = { ...was, kernels: was.kernels.map((kernel) => ({ ...kernel, started: true, failed: false })) }
          if (blocked(was) && promoted(name, was) === was && promoted(name, sound) !== sound) guarded.add(name)
        }
      }

      const property = fc.asyncProperty(
        sizes,
        fc.array(turn, { minLength: 6, maxLength: 14 }),
        async (clusters, turns) => {
          const { server, sql, database } = given
          await database.fresh()
          const agents = [0, 1].map(() => fakeAgent(server.gateway, { slots: { cpu: '7' } }))
          for (const agent of agents) await agent.register()
          for (const clusterSize of clusters) {
            await server.create({ clusterSize, clusterMode: 'MULTI_NODE', resourceSlots: [{ slot: 'cpu', amount: 1 }] })
          }
          await server.run('schedule-sessions')
          for (const one of turns) {
            await sql('UPDATE sessions SET next_try_at = NULL WHERE next_try_at IS NOT NULL')
            await report(agents, one)
            if (one.lost) await sql(`UPDATE agents SET status = 'LOST' WHERE id = $1`, [agents[1]!.id])
            for (const name of one.services) {
              if (name in PROMOTIONS) await promote(name as PromotionName)
              else await server.run(name)
            }
            if (one.lost) await sql(`UPDATE agents SET status = 'ALIVE' WHERE id = $1`, [agents[1]!.id])
          }
        },
      )
      const examples: [number[], Turn[]][] = [
        [[1, 2, 3], FAILED_WHEN_PREPARED],
        [[2, 2, 2], FAILED_WHILE_OTHERS_RUN],
        [[1, 1], ENDED_WHOLE],
        [[2], FAILED_AT_ONCE],
        [[1], PULLED],
        [[2], PREPARED_ON_A_LOST_AGENT],
      ]
      await checkProperty(property, { numRuns: examples.length + 12, examples })
      expect([...moved].toSorted()).toEqual(
        expect.arrayContaining([
          'CREATING→RUNNING',
          'CREATING→TERMINATING',
          'PREPARING→CREATING',
          'PREPARING→PREPARED',
          'PREPARING→PULLING',
          'PULLING→CREATING',
          'RUNNING→ERROR',
          'RUNNING→TERMINATED',
          'RUNNING→TERMINATING',
          'TERMINATING→ERROR',
        ]),
      )
      expect(guarded).toContain('promote-to-prepared')
    },
  )
})

describe('slots', () => {
  const amount = fc.constantFrom('0.1', '0.3', '0.000000001', '1', '2.5', '3')
  const slots = fc.dictionary(fc.constantFrom('cpu', 'mem', 'fpga.share'), amount, { minKeys: 1, maxKeys: 3 })

  type Step =
    | { does: 'start'; slots: Record<string, string>; kernels: number }
    | { does: 'end'; pick: number }
    | { does: 'declare'; slots: Record<string, string> }

  const step: fc.Arbitrary<Step> = fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({ does: fc.constant('start'), slots, kernels: fc.integer({ min: 1, max: 3 }) } as const),
    },
    { weight: 2, arbitrary: fc.record({ does: fc.constant('end'), pick: fc.nat({ max: 20 }) } as const) },
    { weight: 2, arbitrary: fc.record({ does: fc.constant('declare'), slots } as const) },
  )

  it('an agent that declares fewer slots shrinks as its kernels end, and is never oversold', async () => {
    const { server, db, sql, database } = given

    /** Freed slots are not given out while more is in use than was declared. */
    async function expectBooked(declared: Record<string, string>): Promise<void> {
      expect(await misbookedSlots(db)).toEqual([])
      const wrong = await sql(
        `SELECT slot, used, capacity, declared FROM agent_slots
      WHERE capacity <> greatest(used, declared) OR declared <> coalesce(($1::jsonb ->> slot)::numeric, 0)`,
        [JSON.stringify(declared)],
      )
      expect(wrong).toEqual([])
    }

    const property = fc.asyncProperty(
      slots,
      fc.array(step, { minLength: 5, maxLength: 25 }),
      async (declared, steps) => {
        await database.fresh()
        const agent = fakeAgent(server.gateway, { slots: declared })
        await agent.register()
        let now: Record<string, string> = declared
        for (const one of steps) {
          if (one.does === 'start') {
            const resourceSlots = Object.entries(one.slots).map(([slot, of]) => ({ slot, amount: of }))
            await server.create({ resourceSlots, clusterSize: one.kernels })
            await server.run('schedule-sessions')
          } else if (one.does === 'end') {
            const held = await sql('SELECT id FROM kernels WHERE slots_held ORDER BY id')
            await sql('UPDATE kernels SET slots_held = false WHERE id = $1', [
              held[one.pick % Math.max(1, held.length)]?.['id'] ?? null,
            ])
          } else {
            now = one.slots
            await agent.register(now)
          }
          await expectBooked(now)
        }
        await sql('UPDATE kernels SET slots_held = false WHERE slots_held')
        await expectBooked(now)
      },
    )
    await checkProperty(property, { numRuns: 8 })
  })

  it('bookings and registrations at once do not wait for each other in a circle', async () => {
    const { server, agent, db } = given
    const all = { cpu: '1000', mem: '1000', 'fpga.share': '1000' }
    await agent.register(all)
    const resourceSlots = [
      { slot: 'mem', amount: 1 },
      { slot: 'fpga.share', amount: 1 },
    ]
    for (let round = 0; round < 10; round++) {
      await Promise.all(Array.from({ length: 10 }, () => server.create({ resourceSlots })))
      await Promise.all([
        server.run('schedule-sessions'),
        agent.register(all),
        agent.register(all),
        agent.register(all),
      ])
    }
    expect(await misbookedSlots(db)).toEqual([])
  })
})
