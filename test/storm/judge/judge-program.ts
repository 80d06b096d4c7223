import { readEvidence, type Evidence } from './evidence.ts'
import { judge, type Violation } from './promises.ts'
import { hasTimedOut } from './runs.ts'

/**
 * `judge-program.ts <directory> <database URL>`: judges a storm by what it left, and prints the verdict as JSON. It uses
 * nothing of the product. Exit status 1 if a promise was broken.
 */

export interface Verdict {
  sessions: number
  chains: number
  retries: number
  resubmissions: number
  /** Processes of kernels that have run, and lines that they have written. */
  runs: number
  calls: number
  unanswered: number
  events: number
  received: number
  /** Leases that ran out, sessions that took too long, and chains that retention removed. */
  leasesLost: number
  timedOut: number
  chainsRemoved: number
  violations: Violation[]
}

function verdictOf(evidence: Evidence): Verdict {
  const { sessions, runs, calls, events, received, leases, removed } = evidence
  const gone = new Set(removed.map(({ id }) => id))
  return {
    sessions: sessions.length,
    chains: new Set(sessions.map(({ chainId }) => chainId)).size,
    retries: sessions.filter(({ origin }) => origin === 'AUTO_RETRY').length,
    resubmissions: sessions.filter(({ origin }) => origin === 'RESUBMISSION').length,
    runs: runs.length,
    calls: calls.length,
    unanswered: calls.filter(({ outcome }) => outcome === 'unknown').length,
    events: events.length,
    received: received.flat().length,
    leasesLost: leases.filter(({ to }) => to === 'LOST').length,
    timedOut: sessions.filter(hasTimedOut).length,
    chainsRemoved: sessions.filter(({ id, chainId }) => id === chainId && gone.has(id)).length,
    violations: judge(evidence),
  }
}

const [directory, databaseUrl] = process.argv.slice(2) as [string, string]
const verdict = verdictOf(await readEvidence(directory, databaseUrl))
process.stdout.write(JSON.stringify(verdict))
process.exitCode = verdict.violations.length > 0 ? 1 : 0
