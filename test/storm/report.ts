import { formatColumns, wrap } from '../bench/columns.ts'
import { PROMISES } from './judge/promises.ts'
import type { StormResult } from './storm.ts'

const WIDTH = 80
const SHOWN_MAX = 5
const COLUMNS = [{ width: 66 }, { width: 13, right: true }]

/** For a terminal of 80 columns: what happened, and what became of each promise. */
export function formatStorm({ seed, seconds, faults, hoursAhead, verdict }: StormResult): string {
  const total = Object.values(faults).reduce((sum, count) => sum + count, 0)
  const { sessions, chains, retries, resubmissions, runs, calls, unanswered, events, received } = verdict
  const { leasesLost, timedOut, chainsRemoved, violations } = verdict
  const row = (name: string, value: string | number) => formatColumns(COLUMNS, [name, String(value)])
  const lines = [
    `seed ${seed}, ${Math.round(seconds)} s with the time to calm down`,
    ...(hoursAhead > 0 ? [`time was moved ahead by ${hoursAhead.toFixed(1)} hours`] : []),
    '',
    ...row('faults', total),
    ...Object.entries(faults).flatMap(([name, count]) => row(`  ${name}`, count)),
    '',
    ...row('chains', chains),
    ...row('sessions', sessions),
    ...row('  automatic retries', retries),
    ...row('  resubmissions', resubmissions),
    ...row('  that timed out', timedOut),
    ...row('chains that grew too old', chainsRemoved),
    ...row('leases that ran out', leasesLost),
    ...row('processes of kernels', runs),
    ...row('calls of clients', calls),
    ...row('  without an answer', unanswered),
    ...row('events', events),
    ...row('  received by all subscribers together', received),
    '',
  ]
  for (const [promise, words] of Object.entries(PROMISES)) {
    const own = violations.filter((violation) => violation.promise === promise)
    lines.push(...row(words, own.length === 0 ? 'kept' : `BROKEN: ${own.length}`))
    for (const { subject, what } of own.slice(0, SHOWN_MAX)) {
      lines.push(...wrap(`${subject} ${what}`, WIDTH - 4).map((line) => `    ${line}`))
    }
    if (own.length > SHOWN_MAX) lines.push(`    … and ${own.length - SHOWN_MAX} more: --json prints all of them`)
  }
  return lines.join('\n')
}
