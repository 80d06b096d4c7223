/** Property: the slots of an agent are never oversold. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'
import { misbookedSlots } from '../../support/database/session-rows.ts'
import { playedAgent } from '../../support/agents/played-agent.ts'
import { checkProperty } from '../../support/seeds.ts'

const given = useScheduling()

const amount = fc.constantFrom('0.1', '0.3', '0.000000001', '1', '2.5', '3')
const slots = fc.dictionary(fc.constantFrom('cpu', 'mem', 'cuda.device'), amount, { minKeys: 1, maxKeys: 3 })

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

it('an agent that declares less shrinks as what it has ends, and is never oversold', async () => {
  const { server, db, sql, database } = given

  /** What ended kernels free is given back to nobody while more is in use than was declared. */
  async function expectBooked(declared: Record<string, string>): Promise<void> {
    expect(await misbookedSlots(db)).toEqual([])
    const wrong = await sql(
      `SELECT slot, used, capacity, declared FROM agent_slots
      WHERE capacity <> greatest(used, declared) OR declared <> coalesce(($1::jsonb ->> slot)::numeric, 0)`,
      [JSON.stringify(declared)],
    )
    expect(wrong).toEqual([])
  }

  const property = fc.asyncProperty(slots, fc.array(step, { minLength: 5, maxLength: 25 }), async (declared, steps) => {
    await database.fresh()
    const agent = playedAgent(server.gateway, { slots: declared })
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
  })
  await checkProperty(property, { numRuns: 8 })
})

it('bookings and registrations at once do not wait for each other in a circle', async () => {
  const { server, agent, db } = given
  const all = { cpu: '1000', mem: '1000', 'cuda.device': '1000' }
  await agent.register(all)
  const resourceSlots = [
    { slot: 'mem', amount: 1 },
    { slot: 'cuda.device', amount: 1 },
  ]
  for (let round = 0; round < 10; round++) {
    await Promise.all(Array.from({ length: 10 }, () => server.create({ resourceSlots })))
    await Promise.all([server.run('schedule-sessions'), agent.register(all), agent.register(all), agent.register(all)])
  }
  expect(await misbookedSlots(db)).toEqual([])
})
