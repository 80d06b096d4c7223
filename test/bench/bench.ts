import type { BenchGround } from './ground.ts'

/** One line of the table. */
export interface Measurement {
  figure: number
  unit: string
  /** What was measured, in a few words. */
  what: string
  /** The same work without our logic, measured in the same run. */
  ceiling?: number
  /** What the figure must reach; `atMost` for latencies. */
  target?: { atLeast: number } | { atMost: number }
  /** If it is not figure / ceiling. */
  ratio?: number
  /** What figure / ceiling must reach. */
  ratioAtLeast?: number
  /** What it may reach, for costs. */
  ratioAtMost?: number
  /** Counts and checks that belong to the figure. */
  notes?: Record<string, string | number>
}

export type Measure = (ground: BenchGround, size: number) => AsyncIterable<Measurement>

export interface Bench {
  name: string
  /** How many sessions, where nothing else is asked for. */
  size: number
  /** Many times what it takes on two idle cores with that size: one that takes longer hangs. */
  limitSeconds: number
  load(): Promise<Measure>
}

export interface Judged extends Omit<Measurement, 'ratio'> {
  bench: string
  ratio: number | null
  met: boolean | null
}

/** Met only where all that was asked is; null where nothing was. */
export function judge(bench: string, measurement: Measurement): Judged {
  const { figure, ceiling, target, ratioAtLeast, ratioAtMost } = measurement
  const ratio = measurement.ratio ?? (ceiling === undefined ? null : figure / ceiling)
  const verdicts: boolean[] = []
  if (target) verdicts.push('atLeast' in target ? figure >= target.atLeast : figure <= target.atMost)
  if (ratioAtLeast !== undefined && ratio !== null) verdicts.push(ratio >= ratioAtLeast)
  if (ratioAtMost !== undefined && ratio !== null) verdicts.push(ratio <= ratioAtMost)
  return { ...measurement, bench, ratio, met: verdicts.length === 0 ? null : verdicts.every(Boolean) }
}
