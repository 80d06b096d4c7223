import type { StormRecord } from '../records.ts'
import type { Evidence } from './evidence.ts'
import type { Accuse } from './promises.ts'

/** What becomes of an agent that is halted, dead or cut off for long: its lease runs out, and so does its fence. */

type FaultRecord = Extract<StormRecord, { kind: 'fault' }>

/** Faults in which an agent is not answered, and those in which it is not heard either. */
const UNANSWERED = /^(SIGSTOP agent|kill -9 agent|agent line (cut|stalled|deaf|mute))$/
const UNHEARD = /^(SIGSTOP agent|kill -9 agent|agent line (cut|stalled|mute))$/
/** While these last, nobody may be there to hear it, or to see that it is silent: it then gets a full lease again. */
const UNHEARING = /^(kill -9 server|SIGSTOP server|database|kill -9 database)/
/** After its fence the keeper spares what is being stopped for so long. */
const STOPS_SECONDS = 10

export function silencePromises(evidence: Evidence, accuse: Accuse): void {
  const faults = evidence.storm.filter((record) => record.kind === 'fault')
  for (const fault of faults) {
    if (UNANSWERED.test(fault.fault)) expectFence(fault, evidence, accuse)
    if (UNHEARD.test(fault.fault)) expectLost(fault, faults, evidence, accuse)
  }
}

const agentOf = ({ target }: FaultRecord) => target.split(' ')[0]!

/** A program that ran when its agent was last answered does not live on for longer than the fence. */
function expectFence(fault: FaultRecord, { runs, kernels, terms, clock }: Evidence, accuse: Accuse): void {
  const { at, until } = fault
  const own = new Set(kernels.filter(({ agent }) => agent === agentOf(fault)).map(({ id }) => id))
  const fenceAt = at.up + clock.aheadMost(at.up) + terms.fenceAfterMs / 1000
  const overAt = until.up + clock.aheadLeast(until.up)
  for (const { kernelId, sessionId, firstAt, movedLastAt } of runs) {
    if (!own.has(kernelId) || firstAt > at.up) continue
    const late = Math.min(movedLastAt, overAt) - fenceAt
    if (late > terms.overtimeSeconds + STOPS_SECONDS) {
      accuse(
        'fence',
        sessionId,
        `ran on for ${Math.round(late)} s after the fence of ${agentOf(fault)} (${fault.fault})`,
      )
    }
  }
}

function expectLost(
  fault: FaultRecord,
  faults: readonly FaultRecord[],
  { terms, clock, leases }: Evidence,
  accuse: Accuse,
): void {
  const { at, until } = fault
  const from = clock.databaseMost(at.up)
  const to = clock.databaseLeast(until.up)
  const deaf = faults.some(
    (other) => UNHEARING.test(other.fault) && other.at.up < until.up && other.until.up > at.up - RECOVERY_SECONDS,
  )
  const allowed = terms.lease.lostAfterMs + terms.overtimeSeconds * 1000
  if (deaf || to - from <= allowed) return
  const before = leases.filter((row) => row.agent === agentOf(fault) && row.at <= to).toSorted((a, b) => a.at - b.at)
  if (before.at(-1)?.to !== 'LOST') {
    const seconds = Math.round((to - from) / 1000)
    accuse('lease', agentOf(fault), `was silent for ${seconds} s from uptime ${at.up} (${fault.fault}), and not LOST`)
  }
}

/** By the machine's clock: a server that was killed needs so long to be there again. */
const RECOVERY_SECONDS = 10
