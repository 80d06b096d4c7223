import { chainPromises } from './chains.ts'
import type { Evidence } from './evidence.ts'
import { clientPromises } from './clients.ts'
import { eventPromises } from './events.ts'
import { outputPromises } from './outputs.ts'
import { retentionPromises } from './retention.ts'
import { runPromises } from './runs.ts'
import { silencePromises } from './silence.ts'

/** What is promised, in the order of the report. */
export const PROMISES = {
  'one-child': 'One child for one failed attempt, and one in the end',
  'two-live': 'Never two live attempts of a chain',
  once: 'Work that must not run twice runs once',
  terminal: 'A terminal state is final',
  lost: 'Nothing is lost, and nothing comes from nowhere',
  asked: 'What a client was told happens',
  events: 'Events come at least once, and in order per chain',
  'exit-code': 'Exit codes are those of the programs',
  'time-limit': 'Time limits are kept, and nothing ends before its own',
  lease: 'A silent agent is lost when its lease is over',
  fence: 'Nothing runs on behind its fence',
  outputs: 'What a program wrote arrives, every byte of it',
  retention: 'Only old chains are removed, and only whole ones',
  left: 'Nothing is left running or booked',
  process: 'No server or agent ends by itself',
} as const

export type PromiseName = keyof typeof PROMISES

export interface Violation {
  promise: PromiseName
  /** The session or chain, or the name of a process or client. */
  subject: string
  what: string
}

/** Says which promise was broken, by whom and how. */
export type Accuse = (promise: PromiseName, subject: string, what: string) => void

/** One sentence for each violation of a promise; an empty list means that all evidence agrees with all promises. */
export function judge(evidence: Evidence): Violation[] {
  const violations: Violation[] = []
  const accuse: Accuse = (promise, subject, what) => violations.push({ promise, subject, what })
  const promises = [chainPromises, runPromises, clientPromises, eventPromises, silencePromises, outputPromises]
  for (const look of [...promises, retentionPromises]) look(evidence, accuse)
  for (const record of evidence.storm) {
    if (record.kind !== 'exit' || record.wanted) continue
    accuse('process', record.process, `ended by itself with ${record.status ?? record.signal}: ${lastLine(record.log)}`)
  }
  const order = Object.keys(PROMISES)
  return violations.toSorted((a, b) => order.indexOf(a.promise) - order.indexOf(b.promise))
}

function lastLine(log: readonly string[]): string {
  return log.at(-1)?.slice(0, 400) ?? 'it wrote nothing'
}
