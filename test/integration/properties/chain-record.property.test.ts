/** Property: whatever happens to chains, their records are complete and consistent. */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { smallFleet, type Happening } from './small-fleet.ts'
import { checkProperty } from '../../support/seeds.ts'

let server: TestServer
beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())

const pick = fc.nat({ max: 20 })
const agent = fc.constantFrom(0, 1)
const happening: fc.Arbitrary<Happening> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      does: fc.constant('create'),
      maxRetries: fc.nat({ max: 3 }),
      kernels: fc.constant(1),
      mode: fc.constant('SINGLE_NODE'),
      cpu: fc.constantFrom('0.1', '2.5'),
    } as const),
  },
  { weight: 14, arbitrary: fc.constant<Happening>({ does: 'round' }) },
  { weight: 7, arbitrary: fc.record({ does: fc.constant('exit'), pick, code: fc.constantFrom(0, 1, 1, 1) } as const) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('cannot'), pick } as const) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('silence'), agent } as const) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('return'), agent } as const) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('terminate'), pick } as const) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('cancel'), pick } as const) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('hurry'), pick } as const) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('change'), pick, maxRetries: fc.nat({ max: 2 }) } as const) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('resubmit'), pick } as const) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('switch'), disabled: fc.boolean() } as const) },
  {
    weight: 5,
    arbitrary: fc.record({ does: fc.constant('wait'), seconds: fc.constantFrom(1, 5, 20, 45, 130) } as const),
  },
  { weight: 1, arbitrary: fc.constant<Happening>({ does: 'restart' }) },
)

interface Segment {
  kind: string
  from: string
  to: string | null
  attempt: number
  epoch: number
  session: { sessionId: string } | null
  holdReason: string | null
}
interface Chain {
  chainId: string
  state: string
  epochs: { epoch: number }[]
  runningSeconds: number
  createdAt: string
  endedAt: string | null
  totalSeconds: number
  attempts: number
  sessions: {
    edges: {
      node: { sessionId: string; retryDecision: { phase: string; holds: { from: string; to: string | null }[] } | null }
    }[]
  }
  timeline: { totalCount: number; edges: { cursor: string; node: Segment }[] }
}

const SEGMENTS = `totalCount edges { cursor node { kind from to attempt epoch session { sessionId } holdReason } }`
const CHAINS = `{ chains(first: 30) { edges { node {
  chainId state epochs { epoch } runningSeconds createdAt endedAt totalSeconds attempts
  sessions(first: 30) { edges { node { sessionId retryDecision { phase holds { from to } } } } }
  timeline(first: 100) { ${SEGMENTS} } } } } }`

const seen = new Set<string>()

const rounds = (count: number) => Array.from({ length: count }, (): Happening => ({ does: 'round' }))
/** A life with all kinds of segments, whatever the random ones have. */
const LIFE: Happening[] = [
  { does: 'create', maxRetries: 1, kernels: 1, mode: 'SINGLE_NODE', cpu: '0.1' },
  ...rounds(6),
  { does: 'wait', seconds: 5 },
  { does: 'exit', pick: 0, code: 1 },
  ...rounds(3),
  { does: 'switch', disabled: true },
  { does: 'wait', seconds: 5 },
  ...rounds(1),
  { does: 'wait', seconds: 20 },
  { does: 'hurry', pick: 0 },
  ...rounds(1),
  { does: 'switch', disabled: false },
  { does: 'wait', seconds: 1 },
  ...rounds(7),
  { does: 'exit', pick: 0, code: 0 },
  ...rounds(3),
  { does: 'wait', seconds: 45 },
  { does: 'resubmit', pick: 1 },
]

/** By chain, then by cursor: what a segment that has ended said of itself, with its times counted from the chain's. */
type Closed = Map<string, Map<string, object>>

function expectWhole({ chainId, createdAt, endedAt, totalSeconds, timeline }: Chain, closed: Closed): void {
  const start = Date.parse(createdAt)
  const all = timeline.edges.map(({ node }) => node)
  const past = all.filter(({ kind }) => kind !== 'PLANNED')
  for (const { kind } of all) seen.add(kind)
  expect(all.slice(0, past.length), 'what is planned comes last').toEqual(past)
  expect(past.map(({ from }) => from)).toEqual([createdAt, ...past.slice(0, -1).map(({ to }) => to)])
  expect(past.at(-1)!.to).toBe(endedAt)
  const lengths = past.map(
    ({ from, to }) => (to === null ? start + totalSeconds * 1_000 : Date.parse(to)) - Date.parse(from),
  )
  expect(lengths.reduce((sum, length) => sum + length, 0)).toBeCloseTo(totalSeconds * 1_000, 0)
  expect(
    lengths.every((length) => length >= -1),
    'forward in time',
  ).toBe(true)
  const numbers = all.map(({ attempt }) => attempt)
  expect(numbers).toEqual(numbers.toSorted((a, b) => a - b))
  const before = closed.get(chainId) ?? new Map<string, object>()
  closed.set(chainId, before)
  for (const { cursor, node } of timeline.edges) {
    if (node.kind === 'PLANNED' || node.to === null) continue
    const said = { ...node, from: Date.parse(node.from) - start, to: Date.parse(node.to) - start }
    expect(said, 'what has ended stays').toEqual(before.get(cursor) ?? said)
    before.set(cursor, said)
  }
}

function expectHolds({ sessions, timeline }: Chain): void {
  for (const { node } of sessions.edges) {
    const held = timeline.edges.flatMap(({ node: segment }) =>
      segment.kind === 'HELD' && segment.session!.sessionId === node.sessionId ? [segment] : [],
    )
    const holds = node.retryDecision?.holds ?? []
    const lasting = holds.filter(({ from, to }) => from !== to)
    expect(held.map(({ from, to }) => ({ from, to }))).toEqual(lasting.map(({ from, to }) => ({ from, to })))
    expect(holds.slice(0, -1).every(({ to }) => to !== null)).toBe(true)
    expect(holds.at(-1)?.to === null).toBe(node.retryDecision?.phase === 'HELD')
  }
}

interface ChainEvent {
  chainId: string
  type: string
  epoch: number
  attempts: number
  ran: number | null
  waited: number | null
}

const EVENTS = `SELECT chain_id AS "chainId", type, (data ->> 'epoch')::int AS epoch,
  (data ->> 'attempts')::int AS attempts, (data ->> 'runningSeconds')::float8 AS ran,
  (data ->> 'waitingSeconds')::float8 AS waited FROM session_events WHERE type LIKE 'chain.%' ORDER BY id`

/** Chains that are not in the order of due times where their newest attempt's decision says. */
const MISPLACED = `
SELECT c.chain_id FROM chains c LEFT JOIN retry_decisions d ON d.session_id = c.tail_id
WHERE c.due_at IS DISTINCT FROM CASE WHEN d.phase IN ('SCHEDULED', 'HELD') THEN d.due_at END`

/** The epochs that were seen to have ended, as `state epoch`, by chain. */
type Ended = Map<string, Set<string>>

/** Each epoch that has ended said so once, others did not, and each that a person began said that. */
async function expectEvents(chains: readonly Chain[], ended: Ended): Promise<void> {
  const { rows } = await server.db.query<ChainEvent & { [column: string]: unknown }>(EVENTS)
  for (const { chainId, state, epochs, endedAt, attempts, totalSeconds, runningSeconds } of chains) {
    const epoch = epochs.at(-1)!.epoch
    const over = ended.get(chainId) ?? new Set()
    ended.set(chainId, over)
    if (endedAt !== null) over.add(`${state.toLowerCase()} ${epoch}`)
    const own = rows.filter((row) => row.chainId === chainId)
    const said = own.map((row) => `${row.type.slice('chain.'.length)} ${row.epoch}`)
    const begun = Array.from({ length: epoch }, (_, n) => `reopened ${n + 1}`)
    expect(said.toSorted()).toEqual([...over, ...begun].toSorted())
    if (endedAt === null) continue
    const last = own.at(-1)!
    expect(last).toMatchObject({ attempts })
    expect(last.ran! + last.waited!).toBeCloseTo(totalSeconds, 2)
    expect(last.ran).toBeCloseTo(runningSeconds, 2)
  }
}

async function expectPages(token: string, { chainId, timeline }: Chain, size: number): Promise<void> {
  for (const forward of [true, false]) {
    const edges: object[] = []
    let cursor: string | null = null
    for (;;) {
      const page: any = forward ? { first: size, after: cursor } : { last: size, before: cursor }
      const query = `query ($id: UUID, $first: Int, $after: String, $last: Int, $before: String) {
        chain(id: $id) { timeline(first: $first, after: $after, last: $last, before: $before) {
          pageInfo { hasNextPage hasPreviousPage startCursor endCursor } ${SEGMENTS} } } }`
      const { data } = await server.query(query, { id: chainId, ...page }, token)
      const { edges: found, pageInfo } = data.chain.timeline
      edges.splice(forward ? edges.length : 0, 0, ...found)
      cursor = forward ? pageInfo.endCursor : pageInfo.startCursor
      if (!(forward ? pageInfo.hasNextPage : pageInfo.hasPreviousPage)) break
      expect(found).toHaveLength(size)
    }
    expect(edges).toEqual(timeline.edges)
    expect(timeline.totalCount).toBe(edges.length)
  }
}

it('whatever happens to chains, their time is accounted for, and each end is one event', async () => {
  const { database, factory } = server
  const happenings = fc.array(happening, { minLength: 15, maxLength: 50 })
  const property = fc.asyncProperty(happenings, fc.integer({ min: 1, max: 4 }), async (some, size) => {
    await database.fresh()
    const token = await factory.token({ role: 'ADMIN' })
    const fleet = await smallFleet(server)
    const closed: Closed = new Map()
    const ended: Ended = new Map()

    async function expectRecord(): Promise<Chain[]> {
      const { data, errors } = await server.query(CHAINS, {}, token)
      expect(errors).toBeUndefined()
      const chains: Chain[] = data.chains.edges.map(({ node }: { node: Chain }) => node)
      for (const chain of chains) {
        expectWhole(chain, closed)
        expectHolds(chain)
      }
      await expectEvents(chains, ended)
      expect((await server.db.query(MISPLACED)).rows).toEqual([])
      return chains
    }

    for (const one of some) {
      await fleet.happen(one)
      await expectRecord()
    }
    await fleet.drain()
    for (const chain of await expectRecord()) {
      expect(chain.endedAt).not.toBeNull()
      await expectPages(token, chain, size)
    }
  })
  const wanted = ['QUEUED', 'PREPARING', 'RUNNING', 'BACKOFF', 'HELD', 'RESUBMISSION_GAP', 'PLANNED']
  await checkProperty(property, { numRuns: 3, examples: [[LIFE, 2]] })
  expect([...seen]).toEqual(expect.arrayContaining(wanted))
})
