import { type ChainOrder, listChains } from '../../src/services/chain.ts'
import { readSessionStatistics } from '../../src/services/session/session-statistics.ts'
import type { Viewer } from '../../src/services/service-context.ts'
import type { Database } from '../../src/store/database.ts'
import { addManyChains } from '../support/sessions/many-chains.ts'
import type { Measurement } from './bench.ts'
import type { BenchGround } from './ground.ts'
import { percentile } from './waiting.ts'

/** Not a divisor of what sets the sessions apart: each has some of each. */
const PROJECTS = 11
const ROUNDS = 15
const PAGE_CHAINS = 21

/** What a web interface asks for, on many sessions over a month in some projects, as one of these and as all. */
export async function* statistics(ground: BenchGround, size: number): AsyncGenerator<Measurement> {
  const { db } = await ground.database()
  ground.progress(`${size} sessions`)
  const projects = await addManyChains(db, size, PROJECTS)
  for (const [who, projectId] of [
    ['one project', projects[1]!],
    ['all projects', null],
  ] as const) {
    const viewer = { projectId } as Viewer
    for (const [what, atMost, ask] of QUESTIONS) {
      ground.progress(`${what}, ${who}`)
      const figure = await median(ground, () => ask({ db, viewer }))
      yield { what: `${what}, ${who}`, figure, unit: 'ms', target: { atMost }, notes: { sessions: size } }
    }
  }
}

type Ask = (context: { db: Database; viewer: Viewer }) => Promise<unknown>

const days =
  (count: number): Ask =>
  (context) => {
    const to = new Date()
    const from = new Date(to.getTime() - count * 86_400_000)
    return readSessionStatistics(context, { from, to, bucketSeconds: count * 3_600 })
  }

const page =
  (order: ChainOrder, conditions = {}): Ask =>
  (context) => {
    const bounds = { after: [], before: [], limit: PAGE_CHAINS, asOfMs: Date.now() }
    return listChains(context, { conditions, order, direction: 'desc', ...bounds })
  }

/** What is asked, and in how many milliseconds it must be answered. */
const QUESTIONS: readonly [string, number, Ask][] = [
  ['statistics of a day', 100, days(1)],
  ['statistics of a month', 1_000, days(31)],
  ['chains by activity', 50, page('ACTIVITY')],
  ['chains by attempts', 50, page('ATTEMPTS')],
  ['chains by total time', 50, page('TOTAL_TIME')],
  ['search of a rare word', 100, page('ACTIVITY', { search: 'rar' })],
  ['search of a word that all have', 250, page('ACTIVITY', { search: 'comm' })],
]

async function median(ground: BenchGround, work: () => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    ground.signal.throwIfAborted()
    const begun = performance.now()
    await work()
    times.push(performance.now() - begun)
  }
  return percentile(times, 0.5)
}
