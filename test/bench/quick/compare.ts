import type { Measurement } from '../bench.ts'
import type { BenchGround } from '../ground.ts'
import { readCpuSeconds } from './cpu-seconds.ts'

/** Does the work of one round: sets up what it needs, and calls `timed` once with what counts, which returns its amount. */
export type Side = (timed: (work: () => Promise<number>) => Promise<void>) => Promise<void>

export interface Comparison {
  what: string
  unit: string
  ours: Side
  bare: Side
  /** Processes that only load both sides in the same way. */
  except?: readonly number[]
  rounds: number
  /** What the ratio is of, if not of CPU seconds. */
  by?: 'time'
}

interface Used {
  amount: number
  seconds: number
  cpuSeconds: number
}

/**
 * Rounds of ours and of the bare work in turns. The ratio is that of the CPU seconds which the same amount of work takes
 * (of its time, if the system does not count them): what else the machine does changes it less than that of times. Sums
 * over all rounds, as CPU seconds are counted in hundredths.
 */
export async function compareSides(ground: BenchGround, comparison: Comparison): Promise<Measurement> {
  const { what, unit, rounds, by } = comparison
  const except = new Set(comparison.except)
  const used = { ours: nothing(), bare: nothing() }
  // The first round of each only warms up.
  for (let round = 0; round <= rounds; round++) {
    ground.progress(round === 0 ? 'warms up' : `round ${round} of ${rounds}`)
    for (const who of round % 2 === 0 ? (['bare', 'ours'] as const) : (['ours', 'bare'] as const)) {
      ground.signal.throwIfAborted()
      const measured = await measure(ground, comparison[who], except)
      if (round > 0) used[who] = sumOf(used[who], measured)
    }
  }
  const figure = used.ours.amount / used.ours.cpuSeconds
  const ceiling = used.bare.amount / used.bare.cpuSeconds
  const cpu = figure / ceiling
  const [a, b] = [used.ours.amount / used.ours.seconds, used.bare.amount / used.bare.seconds]
  if (by === 'time') return { what, unit: `${unit}/s`, figure: a, ceiling: b, notes: { 'by CPU': cpu.toFixed(2) } }
  return { what, unit: `${unit}/CPU s`, figure, ceiling, notes: { 'by time': (a / b).toFixed(2) } }
}

function nothing(): Used {
  return { amount: 0, seconds: 0, cpuSeconds: 0 }
}

function sumOf(a: Used, b: Used): Used {
  return { amount: a.amount + b.amount, seconds: a.seconds + b.seconds, cpuSeconds: a.cpuSeconds + b.cpuSeconds }
}

async function measure(ground: BenchGround, side: Side, except: ReadonlySet<number>): Promise<Used> {
  let used = nothing()
  await side(async (work) => {
    const cpuBefore = await readCpuSeconds(ground.dir, except)
    const began = performance.now()
    const amount = await work()
    const seconds = (performance.now() - began) / 1000
    const cpuAfter = await readCpuSeconds(ground.dir, except)
    used = { amount, seconds, cpuSeconds: cpuBefore === null || cpuAfter === null ? seconds : cpuAfter - cpuBefore }
  })
  return used
}
