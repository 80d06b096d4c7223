import { logOf, type Attempt } from './chain.ts'
import type { DemoCase, ExpectedAttempt } from './cases.ts'

/** Descriptions of all deviations from the expected chain. */
export function checkCase(demoCase: DemoCase, chain: readonly Attempt[]): string[] {
  const faults: string[] = []
  if (chain.length !== demoCase.expected.length) {
    faults.push(`has ${chain.length} attempts, should have ${demoCase.expected.length}`)
  }
  for (const [index, expected] of demoCase.expected.entries()) {
    const attempt = chain[index]
    if (attempt) faults.push(...checkAttempt(attempt, expected))
  }
  const last = chain.at(-1)
  if (demoCase.prints && last && !demoCase.prints.test(logOf(last))) {
    faults.push(`its last attempt printed ${JSON.stringify(logOf(last))}, which lacks ${demoCase.prints}`)
  }
  return faults.map((fault) => `${demoCase.name}: ${fault}`)
}

function checkAttempt(attempt: Attempt, expected: ExpectedAttempt): string[] {
  const oomKilled = attempt.kernels.some((kernel) => kernel.oomKilled)
  const found: Record<keyof ExpectedAttempt, unknown> = { ...attempt, phase: attempt.retryState.phase, oomKilled }
  return Object.entries(expected).flatMap(([key, value]) => {
    const actual = found[key as keyof ExpectedAttempt]
    return actual === value
      ? []
      : [`attempt ${attempt.attempt} has ${key} ${String(actual)}, should have ${String(value)}`]
  })
}
