import { roundUp } from '../charts/round-up.ts'

const STEPS = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800,
]

/** Round durations from 0 to at least `seconds`, at most `most` of them above 0. */
export function ticksTo(seconds: number, most: number): number[] {
  const wanted = Math.max(seconds, 0.001) / most
  const step = STEPS.find((each) => each >= wanted && wanted >= 0.5) ?? roundUp(wanted)
  const ticks = [0]
  for (let at = 1; (at - 1) * step < seconds && at <= most; at++) ticks.push(at * step)
  return ticks
}
