import { isTerminal } from './chains.ts'
import type { Evidence, RemovedRow, SessionRow } from './evidence.ts'
import type { Accuse } from './promises.ts'

/** What was removed: only whole chains and what belongs to them, only old ones, and in the end all that are. */

const HOUR_MS = 3_600_000

export function retentionPromises(evidence: Evidence, accuse: Accuse): void {
  const { sessions, removed, terms } = evidence
  const gone = new Map(removed.filter(({ source }) => source === 'sessions').map((row) => [row.id, row]))
  for (const [chainId, chain] of Map.groupBy(sessions, (session) => session.chainId)) {
    expectWhole(chainId, chain, gone, accuse)
    expectOld(chainId, chain, gone, terms.keepHours, accuse)
    if (terms.keepHours !== null) expectGone(chainId, chain, gone, evidence, terms.keepHours, accuse)
  }
  for (const { source, id, sessionId, at, occurredAt } of removed) {
    if (source === 'session_events') {
      if (at - occurredAt! < (terms.keepHours ?? Number.POSITIVE_INFINITY) * HOUR_MS) {
        accuse('retention', sessionId ?? id, `an event of it was removed ${hours(at - occurredAt!)} h after it`)
      }
    } else if (source !== 'sessions' && !gone.has(sessionId!)) {
      accuse('retention', sessionId!, `a row of ${source} was removed, and the session was not`)
    }
  }
  expectNothingHidden(evidence, gone, accuse)
}

function expectWhole(
  chainId: string,
  chain: readonly SessionRow[],
  gone: ReadonlyMap<string, RemovedRow>,
  accuse: Accuse,
): void {
  const times = new Set(chain.map(({ id }) => gone.get(id)?.xid ?? null))
  if (times.size > 1) {
    const left = chain.filter(({ id }) => !gone.has(id)).length
    accuse('retention', chainId, `${left} of its ${chain.length} attempts were left, or removed at another time`)
  }
}

function expectOld(
  chainId: string,
  chain: readonly SessionRow[],
  gone: ReadonlyMap<string, RemovedRow>,
  keepHours: number | null,
  accuse: Accuse,
): void {
  for (const { id, status, terminatedAt } of chain) {
    const removal = gone.get(id)
    if (removal === undefined) continue
    if (!isTerminal(status)) accuse('retention', chainId, `was removed while an attempt was ${status}`)
    const age = removal.at - (terminatedAt ?? removal.at)
    if (keepHours === null || age < keepHours * HOUR_MS) {
      accuse('retention', chainId, `was removed ${hours(age)} h after an attempt had ended`)
    }
  }
}

/** The servers look every five minutes; an hour is enough whatever happens to them. */
function expectGone(
  chainId: string,
  chain: readonly SessionRow[],
  gone: ReadonlyMap<string, RemovedRow>,
  { endedAt, settledAt }: Evidence,
  keepHours: number,
  accuse: Accuse,
): void {
  if (chain.some(({ id }) => gone.has(id))) return
  const newest = Math.max(...chain.map(({ terminatedAt, createdAt }) => terminatedAt ?? createdAt))
  const age = endedAt - newest
  // What had not been known to be gone kept it until then.
  if (age > (keepHours + 1) * HOUR_MS && endedAt - settledAt > HOUR_MS) {
    accuse('retention', chainId, `is still there ${hours(age)} h after its end`)
  }
}

/** A client that finds a chain gone is right. */
function expectNothingHidden(
  { calls, clock, sessions }: Evidence,
  gone: ReadonlyMap<string, RemovedRow>,
  accuse: Accuse,
): void {
  const known = new Set(sessions.map(({ id }) => id))
  for (const { isGone, sessionId, answeredAt } of calls) {
    if (!isGone || sessionId === null || !known.has(sessionId)) continue
    const at = gone.get(sessionId)?.at ?? Number.POSITIVE_INFINITY
    if (at > clock.databaseMost(answeredAt!.up)) accuse('lost', sessionId, 'was not found, and had not been removed')
  }
}

const hours = (ms: number) => (ms / HOUR_MS).toFixed(2)
