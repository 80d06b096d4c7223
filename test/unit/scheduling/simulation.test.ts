import { describe, expect, it } from 'vitest'
import { HEAD_OF_LINE_SKIPS_MAX } from '../../../src/domain/limits.ts'
import {
  agentCapacity,
  type AgentSelector,
  createAgentPool,
  giveBack,
  take,
} from '../../../src/domain/scheduling/agent-pool.ts'
import {
  byDominantShare,
  compareAge,
  inOrderOfAge,
  isOverdue,
  type Sequencer,
} from '../../../src/domain/scheduling/sequence.ts'
import { place, type PlaceableSession } from '../../../src/domain/scheduling/place.ts'
import { addQuantities, type Quantity } from '../../../src/domain/scheduling/resource-request.ts'
import { randomOf } from '../../support/seeds.ts'
import { agentWith, session } from './lines.ts'

const RUNS_MAX_TICKS = 40
const HEAD = 32
/** Fixed: the bounds are those of one typical run, not of all. */
const SEED = 7

interface Pending extends PlaceableSession {
  big: boolean
  arrivedAt: number
  runsFor: number
}

/**
 * As the handler claims: the head of the line without a gap, the first of each scheduling class, those that are
 * overdue.
 */
function claim(
  line: readonly Pending[],
  sequencer: Sequencer,
): { sessions: Pending[]; covered: number; longClasses: Set<string> } {
  const direction = sequencer === 'LIFO' ? -1 : 1
  const ordered = line.toSorted((a, b) => b.priority - a.priority || direction * compareAge(a, b))
  const classes = Map.groupBy(ordered, ({ claimedClass }) => claimedClass)
  const reach = Math.max(1, Math.floor(HEAD / Math.max(1, classes.size)))
  const head = sequencer === 'DRF' ? [] : ordered.slice(0, HEAD)
  const sessions = new Set([
    ...head,
    ...[...classes.values()].flatMap((those) => those.slice(0, reach)),
    ...line.filter(isOverdue),
  ])
  const longClasses = new Set([...classes].filter(([, those]) => those.length >= reach).map(([name]) => name))
  return { sessions: [...sessions], covered: head.length, longClasses }
}

/** `load`: sessions that arrive in a tick, on average. At about 28 they ask for all that there is. */
function simulate(sequencer: Sequencer, selector: AgentSelector, load: number, ticks: number) {
  const { below, chance, pick } = randomOf(SEED)
  const fleet = Array.from({ length: 60 }, (_, n) => {
    const large = n % 6 === 0
    return agentWith(
      `agent-${String(n).padStart(2, '0')}`,
      large ? { cpu: '64', mem: '256' } : { cpu: '16', mem: '64' },
    )
  })
  const byId = new Map(fleet.map((one) => [one.id, one]))
  const totals = new Map<string, Quantity>()
  for (const { capacity } of fleet) addQuantities(totals, capacity)
  let line: Pending[] = []
  let roundRobinAt: string | null = null
  const running = new Map<number, { pending: Pending; agents: string[] }[]>()
  const usedByOwner = new Map<string, Map<string, Quantity>>()
  const waits = { big: [] as number[], small: [] as number[] }
  const overdueSince = new Map<string, number>()
  const overdue: number[] = []
  const smallStartsWhileHeld: number[] = []
  const busy: number[] = []
  let skipsMost = 0
  let arrivals = 0

  function arrive(tick: number): void {
    const big = chance(0.02)
    const multi = big && chance(0.3)
    const cpu = big && !multi ? pick(['48', '60', '64']) : pick(['0.5', '1', '2', '4'])
    const owner = pick(['ada', 'bob', 'cleo', 'dan'])
    const made = session(
      `s${String(arrivals++).padStart(6, '0')}`,
      { cpu, mem: pick(['1', '2', '8']) },
      {
        owner,
        createdAt: tick,
        priority: chance(0.1) ? 20 : 10,
        ...(multi && { size: pick([20, 40]), mode: 'MULTI_NODE' as const }),
      },
    )
    line.push({ ...made, big, arrivedAt: tick, runsFor: 1 + below(RUNS_MAX_TICKS) })
  }

  function end(tick: number): void {
    for (const { pending, agents } of running.get(tick) ?? []) {
      for (const agent of agents) giveBack(byId.get(agent)!, pending.request.slots)
      const owned = usedByOwner.get(pending.owner)!
      for (const [slot, amount] of pending.request.slots)
        owned.set(slot, owned.get(slot)! - amount * BigInt(agents.length))
    }
    running.delete(tick)
  }

  function start(tick: number, pending: Pending, agents: string[]): void {
    for (const agent of agents) {
      const one = byId.get(agent)!
      take(one, pending.request.slots)
      for (const amount of one.free.values()) if (amount < 0n) throw new Error('oversold')
    }
    const owned = usedByOwner.get(pending.owner) ?? new Map<string, Quantity>()
    usedByOwner.set(pending.owner, owned)
    for (const _ of agents) addQuantities(owned, pending.request.slots)
    const over = tick + pending.runsFor
    running.set(over, [...(running.get(over) ?? []), { pending, agents }])
    waits[pending.big ? 'big' : 'small'].push(tick - pending.arrivedAt)
    if (overdueSince.has(pending.id)) overdue.push(tick - overdueSince.get(pending.id)!)
  }

  /** Answers whether to look again at once. */
  function look(tick: number): boolean {
    const { sessions, covered, longClasses } = claim(line, sequencer)
    const pool = createAgentPool(
      fleet.map((one) => agentCapacity({ ...one, free: new Map(one.free) })),
      selector,
      roundRobinAt,
    )
    const sequence =
      sequencer === 'DRF'
        ? byDominantShare<PlaceableSession>(sessions, { usedByOwner, totals })
        : inOrderOfAge<PlaceableSession>(sessions, sequencer === 'LIFO', covered)
    const placement = place({ sessions, sequence, longClasses, group: 'g' }, pool)
    roundRobinAt = pool.roundRobinAt
    const started = new Map(
      placement.placed.map(({ sessionId, kernels }) => [sessionId, kernels.map(({ agentId }) => agentId)]),
    )
    for (const pending of line) {
      const agents = started.get(pending.id)
      if (agents) start(tick, pending, agents)
      pending.skips += placement.overtaken.get(pending.id) ?? 0
      skipsMost = Math.max(skipsMost, pending.skips)
      if (isOverdue(pending) && !overdueSince.has(pending.id)) overdueSince.set(pending.id, tick)
    }
    const held = line.some(isOverdue)
    line = line.filter(({ id }) => !started.has(id))
    if (held) smallStartsWhileHeld.push(placement.placed.length)
    return placement.ranOut
  }

  for (let tick = 0; tick < ticks || line.length > 0 || running.size > 0; tick++) {
    if (tick > 4 * ticks)
      throw new Error(
        `${line.length} never start: ${JSON.stringify(line.slice(0, 3).map(({ id, skips }) => ({ id, skips })))}`,
      )
    end(tick)
    if (tick < ticks) for (let n = 0; n < load - 6 + below(13); n++) arrive(tick)
    while (look(tick));
    const free = fleet.reduce((sum, one) => sum + one.free.get('cpu')!, 0n)
    if (tick < ticks && line.length > 0) busy.push(1 - Number(free) / Number(totals.get('cpu')))
  }
  for (const one of fleet) expect([...one.free]).toEqual([...one.capacity])
  return { arrivals, waits, overdue, smallStartsWhileHeld, busy, skipsMost }
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length)

function measure({ arrivals, waits, overdue, smallStartsWhileHeld, busy, skipsMost }: ReturnType<typeof simulate>) {
  return {
    allStarted: waits.big.length + waits.small.length === arrivals,
    skipsMost,
    held: overdue.length,
    overdueMost: Math.max(0, ...overdue),
    bigWaitMost: Math.max(...waits.big),
    smallWait: mean(waits.small),
    smallFlow: mean(smallStartsWhileHeld),
    busy: mean(busy),
  }
}

const SELECTORS: readonly AgentSelector[] = ['DISPERSED', 'CONCENTRATED', 'ROUND_ROBIN']

describe.each<Sequencer>(['FIFO', 'LIFO', 'DRF'])('%s', (sequencer) => {
  it.each(SELECTORS)('%s starts large sessions while small ones flow', (selector) => {
    const seen = measure(simulate(sequencer, selector, 20, 80))
    expect(seen.allStarted).toBe(true)
    // If the youngest go first, one pass may let many go before its turn comes.
    const passedAtOnce = sequencer === 'LIFO' ? HEAD : 0
    expect(seen.skipsMost).toBeLessThanOrEqual(HEAD_OF_LINE_SKIPS_MAX + passedAtOnce)
    // Sessions on the reserved capacity have ended by then; others may be overdue before it.
    expect(seen.overdueMost).toBeLessThanOrEqual(2 * RUNS_MAX_TICKS)
    expect(seen.smallWait).toBeLessThan(1)
  })
})

it.each(SELECTORS)(
  '%s keeps the agents busy under more work than fits, and finishes all of it',
  (selector) => {
    const seen = measure(simulate('FIFO', selector, 34, 60))
    expect(seen.allStarted).toBe(true)
    expect(seen.skipsMost).toBeLessThanOrEqual(HEAD_OF_LINE_SKIPS_MAX)
    expect(seen.held).toBeGreaterThan(10)
    expect(seen.smallFlow).toBeGreaterThan(0)
    expect(seen.busy).toBeGreaterThan(0.75)
  },
  30_000,
)
