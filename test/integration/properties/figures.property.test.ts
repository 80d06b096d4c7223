/** Property: the sums are those of a plain reading of all rows, whatever happens and whatever is deleted since. */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { FIGURE_GROUPINGS, type FigureGrouping, isOfFailures } from '../../../src/domain/insight/figures.ts'
import { NO_SUMS, readFigures, readRetryFigures } from '../../../src/store/sql/insight/read-figures.sql.ts'
import type { SummedFigure } from '../../../src/store/sql/insight/roll-up.sql.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { checkProperty } from '../../support/seeds.ts'
import { testServer } from '../../support/servers/test-server.ts'
import { removeOlder } from '../../support/sessions/remove-older.ts'
import { type Happening, smallFleet } from './small-fleet.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await testDatabase()
})
afterAll(() => database?.close())

/** Besides what happens to a fleet: usage comes late, a pass crashes, one ends, and old chains are deleted. */
type More =
  | { does: 'usage'; pick: number; seconds: number }
  | { does: 'crash' }
  | { does: 'roll-up' }
  | { does: 'remove' }

const pick = fc.nat({ max: 20 })
const happening: fc.Arbitrary<Happening | More> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      does: fc.constant('create'),
      maxRetries: fc.nat({ max: 3 }),
      kernels: fc.constantFrom(1, 1, 2),
      mode: fc.constant('SINGLE_NODE'),
      cpu: fc.constantFrom('0.1', '0.7', '2.5'),
    } as const),
  },
  { weight: 14, arbitrary: fc.constant<Happening>({ does: 'round' }) },
  { weight: 8, arbitrary: fc.record({ does: fc.constant('exit'), pick, code: fc.constantFrom(0, 1, 1, 64) } as const) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('silence'), agent: fc.constantFrom(0, 1) } as const) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('return'), agent: fc.constantFrom(0, 1) } as const) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('terminate'), pick } as const) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('cancel'), pick } as const) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('change'), pick, maxRetries: fc.nat({ max: 2 }) } as const) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('resubmit'), pick } as const) },
  {
    weight: 5,
    arbitrary: fc.record({ does: fc.constant('wait'), seconds: fc.constantFrom(1, 20, 130, 5_000, 90_000) } as const),
  },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('usage'), pick, seconds: fc.nat({ max: 900 }) } as const) },
  { weight: 2, arbitrary: fc.constant<More>({ does: 'crash' }) },
  { weight: 2, arbitrary: fc.constant<More>({ does: 'roll-up' }) },
  { weight: 2, arbitrary: fc.constant<More>({ does: 'remove' }) },
)

const rounds = (count: number) => Array.from({ length: count }, (): Happening => ({ does: 'round' }))
const exit = (code: number): Happening[] => [
  ...rounds(6),
  { does: 'exit', pick: 0, code },
  ...rounds(3),
  { does: 'wait', seconds: 20 },
]
const CREATE: Happening = { does: 'create', maxRetries: 1, kernels: 1, mode: 'SINGLE_NODE', cpu: '2.5' }
/** A chain that a retry saves and one that is lost, usage that comes late, and what has not been summed up is deleted. */
const LIFE: (Happening | More)[] = [
  CREATE,
  ...exit(1),
  ...exit(0),
  CREATE,
  ...exit(1),
  { does: 'roll-up' },
  ...exit(64),
  { does: 'usage', pick: 1, seconds: 77 },
  { does: 'crash' },
  { does: 'wait', seconds: 5_000 },
  { does: 'remove' },
]

/** A session as its rows have it. */
interface Raw {
  id: string
  parent_session_id: string | null
  origin: string
  epoch: number
  created_at: Date
  started_at: Date | null
  terminated_at: Date | null
  epoch_started_at: Date
  decided: boolean
  result: string
  failure_cause: string | null
  exit_code: number | null
  retry_count: number
  uncounted_retries: number
  name: string
  project_id: string
  user_id: string | null
  resource_group: string
  image: string | null
  group_id: string | null
  labels: Record<string, string>
  resource_slots: Record<string, string>
  cluster_size: number
  retry_policy: { rules: object[] }
  phase: string | null
  matched_rule: number | null
  failure_group: string | null
  kernels: { name: string; agent: string | null; cpu: number | null }[]
  decider: string | null
}

const RAW = `
SELECT s.id, s.parent_session_id, s.origin, s.epoch, s.created_at, s.started_at, s.terminated_at, s.epoch_started_at,
  s.retry_decided AS decided, s.result, s.failure_cause, s.exit_code, s.retry_count, s.uncounted_retries, s.name, s.project_id,
  s.user_id, s.resource_group, s.image, s.group_id, s.labels, s.resource_slots, s.cluster_size, s.retry_policy,
  s.status_data ->> 'kernel' AS decider,
  (SELECT phase FROM retry_decisions d WHERE d.session_id = s.id), (SELECT matched_rule FROM retry_decisions d WHERE d.session_id = s.id),
  (SELECT group_id FROM failures f WHERE f.session_id = s.id) AS failure_group,
  (SELECT json_agg(json_build_object('name', k.role || k.index, 'agent', k.agent_id, 'cpu', k.cpu_seconds) ORDER BY k.role, k.index)
    FROM kernels k WHERE k.session_id = s.id) AS kernels
FROM sessions s`

type Plain = Pick<
  Record<SummedFigure, number>,
  | 'sessions'
  | 'attempts'
  | 'failed'
  | 'retries'
  | 'saved'
  | 'retries_failed'
  | 'lost'
  | 'waited_ms'
  | 'spent_ms'
  | 'useful_ms'
  | 'lost_ms'
  | 'lost_cpu_ms'
  | 'running_ms'
  | 'used_cpu_ms'
>

const outcomeOf = ({ result, failure_cause: cause }: Raw) =>
  result === 'SUCCESS' ? 'SUCCEEDED' : result === 'FAILURE' && cause !== 'USER_CANCELLED' ? 'FAILED' : 'STOPPED'

/** What one attempt comes to. `all` has every session that ever was. */
function plainOf(session: Raw, all: ReadonlyMap<string, Raw>): Plain {
  const child = [...all.values()].find(
    (other) => other.parent_session_id === session.id && other.origin === 'AUTO_RETRY' && other.decided,
  )
  const outcome = outcomeOf(session)
  const retried = child && outcomeOf(child)
  const ended = session.terminated_at!.getTime()
  const ran = session.started_at === null ? 0 : Math.max(0, ended - session.started_at.getTime())
  const from =
    session.origin === 'AUTO_RETRY' ? all.get(session.parent_session_id!)!.terminated_at! : session.created_at
  const waited = Math.max(0, (session.started_at?.getTime() ?? ended) - from.getTime())
  const failed = outcome === 'FAILED'
  const cpus = Number(session.resource_slots.cpu ?? 0) * session.cluster_size
  const isLost = failed && session.origin === 'AUTO_RETRY' && ['EXHAUSTED', 'NOT_ELIGIBLE'].includes(session.phase!)
  return {
    sessions: 1,
    attempts: 1,
    failed: Number(failed),
    retries: Number(retried !== undefined),
    saved: Number(retried === 'SUCCEEDED'),
    retries_failed: Number(retried === 'FAILED'),
    lost: Number(isLost),
    waited_ms: waited,
    spent_ms: ran,
    useful_ms: outcome === 'SUCCEEDED' ? ran : 0,
    lost_ms: failed ? ran : 0,
    lost_cpu_ms: failed ? Math.round(cpus * ran) : 0,
    running_ms: ran,
    used_cpu_ms: 1_000 * session.kernels.reduce((total, { cpu }) => total + (cpu ?? 0), 0),
  }
}

function keyOf(session: Raw, grouping: FigureGrouping): string | null {
  if (isOfFailures(grouping) && outcomeOf(session) !== 'FAILED') return null
  const rule = session.matched_rule === null ? null : session.retry_policy.rules[session.matched_rule]
  const decider = session.kernels.find(({ name }) => name === (session.decider ?? 'main1')) ?? session.kernels[0]
  const keys: Record<FigureGrouping, string | number | null> = {
    PROJECT: session.project_id,
    NAME: session.name,
    USER: session.user_id ?? '',
    RESOURCE_GROUP: session.resource_group,
    IMAGE: session.image,
    AGENT: decider?.agent ?? '',
    SESSION_GROUP: session.group_id,
    LABEL: session.labels.team ?? null,
    CAUSE: session.failure_cause,
    EXIT_CODE: session.exit_code ?? '',
    RULE: rule ? JSON.stringify(rule) : '',
    FAILURE_GROUP: session.failure_group ?? '',
  }
  return keys[grouping] === null ? null : String(keys[grouping])
}

/** The sums of all attempts that have ended, by the values of a property. */
function plainSums(all: ReadonlyMap<string, Raw>, grouping: FigureGrouping): Map<string, Plain> {
  const sums = new Map<string, Plain>()
  for (const session of all.values()) {
    const key = session.terminated_at !== null && session.decided ? keyOf(session, grouping) : null
    if (key === null) continue
    const own = plainOf(session, all)
    const before = sums.get(key)
    const names = Object.keys(own) as (keyof Plain)[]
    sums.set(
      key,
      Object.fromEntries(names.map((name) => [name, (before?.[name] ?? 0) + own[name]])) as unknown as Plain,
    )
  }
  return sums
}

const ALWAYS = { from: new Date('2000-01-01'), to: new Date('2200-01-01') }

async function rolledSums(grouping: FigureGrouping, fromDays: boolean): Promise<Map<string, Plain>> {
  const label = grouping === 'LABEL' ? 'team' : ''
  const wanted = {
    visibleProjectId: null,
    project: null,
    grouping,
    label,
    spans: fromDays ? { days: ALWAYS, edges: [] } : { days: null, edges: [ALWAYS] },
    sessionIds: null,
  }
  const [spent, lost] = [
    await readFigures(database.db, wanted, { order: 'SPENT', limit: 1_000 }, 10_000),
    await readFigures(database.db, wanted, { order: 'LOST', limit: 1_000 }, 10_000),
  ]
  const retried = await readRetryFigures(
    database.db,
    wanted,
    lost.map(({ key }) => key),
    10_000,
  )
  for (const { key, ...sums } of lost) {
    const { retries, saved, retries_failed: failed } = { ...NO_SUMS, ...sums }
    const { counts = [], times = [] } = retried.find((row) => row.key === key) ?? {}
    const numbers = [counts.map((count) => count.succeeded), counts.map((count) => count.failed)].map(total)
    expect([...numbers, total(times.map(({ chains }) => chains))], key).toEqual([saved, failed, saved])
    expect(total(counts.map((count) => count.stopped)), key).toBe(retries - saved - failed)
  }
  const rows = spent.map((row) => ({ ...NO_SUMS, ...row, ...lost.find(({ key }) => key === row.key) }))
  return new Map(rows.map(({ key, ...row }) => [key, row]))
}

const total = (numbers: readonly number[]) => numbers.reduce((sum, number) => sum + number, 0)

/** Slot time is rounded for each attempt, and usage in each hour. */
const ROUNDING_MS = 100

function expectSame(rolled: ReadonlyMap<string, Plain>, plain: ReadonlyMap<string, Plain>, what: string): void {
  expect([...rolled.keys()].toSorted(), what).toEqual([...plain.keys()].toSorted())
  for (const [key, { used_cpu_ms: used, lost_cpu_ms: lost, ...sums }] of plain) {
    const found = rolled.get(key)!
    expect(found, `${what} ${key}`).toMatchObject(sums)
    expect(Math.abs(found.used_cpu_ms - used), `${what} ${key}`).toBeLessThan(ROUNDING_MS)
    expect(Math.abs(found.lost_cpu_ms - lost), `${what} ${key}`).toBeLessThan(ROUNDING_MS)
  }
}

class Crash extends Error {}

it('the sums are those of a plain reading of all rows', async () => {
  const { db } = database
  const seen = { saved: 0, lost: 0, removed: 0 }
  const property = fc.asyncProperty(fc.array(happening, { minLength: 20, maxLength: 60 }), async (some) => {
    await database.fresh()
    const fleet = await smallFleet(database)
    const server = testServer(db)
    const crashing = testServer(db, { reached: () => Promise.reject(new Crash()) })
    const all = new Map<string, Raw>()

    async function look(): Promise<Map<string, Raw>> {
      const { rows } = await db.query<Raw & Record<string, unknown>>(RAW)
      for (const raw of rows) all.set(raw.id, raw)
      return new Map(rows.map((raw) => [raw.id, raw]))
    }

    async function happen(one: Happening | More): Promise<void> {
      if (one.does === 'usage') {
        await db.query(
          `UPDATE kernels SET cpu_seconds = $2, usage_source = 'CGROUP' WHERE id = (
            SELECT id FROM kernels WHERE status IN ('TERMINATED', 'ERROR') ORDER BY id OFFSET $1 LIMIT 1)`,
          [one.pick, one.seconds],
        )
      } else if (one.does === 'roll-up') await server.run('roll-up-figures')
      else if (one.does === 'crash') {
        await crashing.run('roll-up-figures').catch((error: unknown) => {
          if (!(error instanceof Crash)) throw error
        })
      } else if (one.does === 'remove') {
        await look()
        await removeOlder(db, { chains: '1h', events: '1h' })
        seen.removed += all.size - (await db.query(`SELECT FROM sessions`)).rowCount!
      } else await fleet.happen(one)
      if (one.does === 'create')
        await db.query(
          `UPDATE sessions SET name = 'work-' || length(id::text || $1) % 3, labels = $2 WHERE status = 'PENDING' AND attempt = 1
            AND labels = '{}'`,
          [one.cpu, one.kernels > 1 ? { team: one.cpu, other: '1' } : {}],
        )
    }

    for (const one of some) await happen(one)
    for (const end of [true, false]) {
      const kept = await look()
      while ((await server.run('roll-up-figures'))[0]! > 0);
      for (const grouping of FIGURE_GROUPINGS) {
        const plain = plainSums(all, grouping)
        expectSame(await rolledSums(grouping, true), plain, grouping)
        expectSame(await rolledSums(grouping, false), plainSums(kept, grouping), `${grouping} of what is kept`)
        if (grouping === 'PROJECT')
          for (const { saved, lost } of plain.values())
            Object.assign(seen, { saved: seen.saved + saved, lost: seen.lost + lost })
      }
      if (end) await fleet.drain()
    }
  })
  await checkProperty(property, { numRuns: 3, examples: [[LIFE]] })
  expect(seen.saved * seen.lost * seen.removed, JSON.stringify(seen)).toBeGreaterThan(0)
})
