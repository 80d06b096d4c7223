import type { Measurement } from './bench.ts'
import { grow, type Past } from './grow.ts'
import { FIGURES, type Figure } from './growth-figures.ts'
import type { BenchDatabase, BenchGround } from './ground.ts'
import { percentile } from './waiting.ts'

/** How much worse than on a small and simple past is still the same. */
const FLAT = 1.3

/** What the same work costs by what has been before it: the more, the same. */
export async function* growth(ground: BenchGround, size: number): AsyncGenerator<Measurement> {
  const small: Past = { sessions: size / 1_000, chainAttempts: 1, agents: 1, pendingRetries: 0 }
  const pasts: [string, Past][] = [
    [`${size / 10} sessions`, { ...small, sessions: size / 10 }],
    [`${size} sessions`, { ...small, sessions: size }],
    ['chains of 10 attempts', { ...small, sessions: size / 100, chainAttempts: 10 }],
    ['chains of 1000 attempts', { ...small, sessions: size / 100, chainAttempts: 1_000 }],
    ['500 agents', { ...small, agents: 500 }],
    [`${size / 10} pending retries`, { ...small, pendingRetries: size / 10 }],
  ]
  for (const [what, past] of pasts) {
    const pair: Pair = [await withPast(ground, small), await withPast(ground, past)]
    for (const figure of FIGURES) {
      yield beside(what, figure, await compare(ground, figure, pair), past)
    }
    for (const { db } of pair) await db.close()
  }
}

/** Of the same thing, on the small past and on the other. */
type Pair<Of = BenchDatabase> = [small: Of, grown: Of]

async function withPast(ground: BenchGround, past: Past): Promise<BenchDatabase> {
  const database = await ground.database()
  ground.progress(`a past of ${JSON.stringify(past)}`)
  await grow(database.db, past)
  return database
}

/**
 * Medians. Rounds on the one take turns with rounds on the other, and in turn begin, so that what else the machine does
 * meets both; some go before that only warm up.
 */
async function compare(ground: BenchGround, figure: Figure, [small, grown]: Pair): Promise<Pair<number>> {
  await using onSmall = await figure.open(ground, small)
  await using onGrown = await figure.open(ground, grown)
  const works = [onSmall, onGrown]
  const figures: Pair<number[]> = [[], []]
  const warmsUp = figure.unit === 'ms' ? figure.rounds : 1
  for (let round = -warmsUp; round < figure.rounds; round++) {
    ground.signal.throwIfAborted()
    for (const turn of [0, 1]) {
      const n = (round + warmsUp + turn) % 2
      const value = await works[n]!.round()
      if (round >= 0) figures[n]!.push(value)
    }
  }
  return [percentile(figures[0], 0.5), percentile(figures[1], 0.5)]
}

/** The ceiling is the figure of the small past. What a page shows of long chains is long. */
function beside(of: string, figure: Figure, [small, grown]: Pair<number>, { chainAttempts }: Past): Measurement {
  const compared = { what: `${figure.what}, ${of}`, unit: figure.unit, figure: grown, ceiling: small }
  if (figure.unit !== 'ms') return { ...compared, ratioAtLeast: Number((1 / FLAT).toFixed(2)) }
  if (chainAttempts > 1 && figure.what.startsWith('a page')) return compared
  return { ...compared, target: { atMost: Number((small * FLAT).toFixed(2)) } }
}
