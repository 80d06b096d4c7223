/** One table of a stratified test: trials and failures here and elsewhere, under the same conditions. */
export interface Stratum {
  here: Trials
  elsewhere: Trials
}

export interface Trials {
  trials: number
  failures: number
}

/** Above this variance the exact distribution is close to a normal one, and costs too much. */
const EXACT_VARIANCE_MAX = 100

/**
 * The probability that chance alone gives at least as many failures here: the one-sided exact test of Fisher, over several
 * tables. Each table keeps its own sums, so it does not matter that some kinds of work fail more often than others.
 */
export function moreFailuresByChance(strata: readonly Stratum[]): number {
  const tables = strata.map(({ here, elsewhere }) => ({
    all: here.trials + elsewhere.trials,
    failures: here.failures + elsewhere.failures,
    here: here.trials,
  }))
  const seen = strata.reduce((sum, { here }) => sum + here.failures, 0)
  const mean = tables.reduce((sum, { all, failures, here }) => sum + (here * failures) / all, 0)
  const variance = tables.reduce((sum, table) => sum + varianceOf(table), 0)
  if (variance === 0) return 1
  if (variance > EXACT_VARIANCE_MAX) return normalTail((seen - 0.5 - mean) / Math.sqrt(variance))
  let sums = [1]
  for (const table of tables) sums = convolve(sums, hypergeometric(table))
  return Math.min(
    1,
    sums.slice(seen).reduce((sum, each) => sum + each, 0),
  )
}

interface Table {
  all: number
  failures: number
  here: number
}

function varianceOf({ all, failures, here }: Table): number {
  if (all < 2) return 0
  return (here * (all - here) * failures * (all - failures)) / (all * all * (all - 1))
}

/** The probabilities of 0, 1, 2, … of the failures among those here. */
function hypergeometric({ all, failures, here }: Table): number[] {
  const total = logChoose(all, here)
  return Array.from({ length: Math.min(failures, here) + 1 }, (_, count) =>
    here - count > all - failures
      ? 0
      : Math.exp(logChoose(failures, count) + logChoose(all - failures, here - count) - total),
  )
}

function convolve(one: readonly number[], other: readonly number[]): number[] {
  const sums = Array.from({ length: one.length + other.length - 1 }, () => 0)
  for (const [i, a] of one.entries()) for (const [j, b] of other.entries()) sums[i + j]! += a * b
  return sums
}

const logFactorials = [0, 0]

function logChoose(n: number, k: number): number {
  for (let next = logFactorials.length; next <= n; next++) logFactorials.push(logFactorials[next - 1]! + Math.log(next))
  return logFactorials[n]! - logFactorials[k]! - logFactorials[n - k]!
}

/** Abramowitz and Stegun 26.2.17, accurate to 7.5e-8. */
function normalTail(z: number): number {
  if (z < 0) return 1 - normalTail(-z)
  const t = 1 / (1 + 0.2316419 * z)
  const sum = t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
  return (Math.exp(-(z * z) / 2) / Math.sqrt(2 * Math.PI)) * sum
}

/** The highest success rate at which a share `confidence` of all series of `trials` has a success. */
export function successRateBelow(trials: number, confidence: number): number {
  return trials === 0 ? 1 : 1 - (1 - confidence) ** (1 / trials)
}

/** The value below which the share of the values is, by linear interpolation. @param sorted ascending, not empty */
export function quantile(sorted: readonly number[], share: number): number {
  const at = (sorted.length - 1) * share
  const [low, high] = [sorted[Math.floor(at)]!, sorted[Math.ceil(at)]!]
  return low + (high - low) * (at - Math.floor(at))
}

export function median(values: readonly number[]): number {
  return quantile(
    values.toSorted((a, b) => a - b),
    0.5,
  )
}
