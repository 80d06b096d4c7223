import { RepriseError } from '../../domain/errors.ts'
import { REQUESTS_AT_ONCE_DEFAULT, TURN_WITHIN_MS, WAITING_REQUESTS_MAX } from '../../domain/limits.ts'
import { createTurns } from '../../store/turns.ts'
import { createRates } from './rates.ts'
import type { Viewer } from '../service-context.ts'

/** Lets the requests of each token in, a bounded number at once and at a bounded rate. */
export interface Admission {
  /**
   * Waits for the request's turn. Returns a function that ends it, to be called once.
   * @throws RepriseError TOO_MANY_REQUESTS
   */
  enter(viewer: Viewer): Promise<() => void>
}

export interface AdmissionLimits {
  requestsAtOnce?: number
  /** 0: no limit. */
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
