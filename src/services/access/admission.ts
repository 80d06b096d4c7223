import {
  RATES_REMEMBERED_MAX,
  REQUESTS_AT_ONCE_DEFAULT,
  TURN_WITHIN_MS,
  WAITING_REQUESTS_MAX,
} from '../../domain/limits.ts'
import { RepriseError } from '../../domain/errors.ts'
import { createTurns } from '../../store/turns.ts'
import type { Viewer } from '../service-context.ts'

/** A rate limit for each of many parties, with a burst of what accrues in BURST_SECONDS. */
export interface Rates {
  /** Returns whether the party may act now; if so, the action is counted. */
  take(party: string): boolean
  /** Returns whether the party may act now, without counting. */
  allows(party: string): boolean
}

const BURST_SECONDS = 10

/** @param perSecond 0 means no limit */
export function createRates(perSecond: number, now: () => number = () => performance.now() / 1_000): Rates {
  const burst = perSecond * BURST_SECONDS
  /** The used part of each rate, in the order of last use. A party that has used nothing is missing. */
  const used = new Map<string, { amount: number; at: number }>()

  function usedBy(party: string): number {
    const known = used.get(party)
    return known ? Math.max(0, known.amount - (now() - known.at) * perSecond) : 0
  }

  const allows = (party: string) => perSecond === 0 || usedBy(party) + 1 <= burst
  return {
    allows,
    take(party) {
      if (perSecond === 0) return true
      if (!allows(party)) return false
      const amount = usedBy(party) + 1
      used.delete(party)
      used.set(party, { amount, at: now() })
      if (used.size > RATES_REMEMBERED_MAX) used.delete(used.keys().next().value!)
      return true
    },
  }
}

/** Admits the requests of each token, a bounded number at a time and at a bounded rate. */
export interface Admission {
  /**
   * Waits for the request's turn. Returns a function that ends the request, which must be called once.
   * @throws RepriseError TOO_MANY_REQUESTS
   */
  enter(viewer: Viewer): Promise<() => void>
}

export interface AdmissionLimits {
  requestsAtOnce?: number
  /** 0 means no limit. */
  requestsPerSecond?: number
}

export function createAdmission(limits: AdmissionLimits = {}): Admission {
  const { requestsAtOnce: atOnce = REQUESTS_AT_ONCE_DEFAULT, requestsPerSecond = 0 } = limits
  const turns = createTurns({ atOnce, waitingMax: WAITING_REQUESTS_MAX, withinMs: TURN_WITHIN_MS })
  const rates = createRates(requestsPerSecond)
  return {
    async enter({ tokenId }) {
      if (!rates.take(tokenId)) {
        const message = `Too many requests: this token may make ${requestsPerSecond} per second. Try again in a moment.`
        throw new RepriseError('TOO_MANY_REQUESTS', message)
      }
      return turns.take(tokenId)
    },
  }
}
