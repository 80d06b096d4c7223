/** The smallest thing that counts as chains do: tries of the scheduler, retries of the budget, attempts of the history. */

export interface ModelAttempt {
  attempt: number
  epoch: number
  retryCount: number
  maxRetries: number
  origin: 'INITIAL' | 'AUTO_RETRY' | 'RESUBMISSION'
  state: 'PENDING' | 'RUNNING' | 'FAILED' | 'SUCCEEDED'
  /** In the present status. */
  tries: number
  /** Times it went back to PENDING. */
  reschedules: number
  /** Its outcome, once it has ended. */
  next: 'UNDECIDED' | 'SCHEDULED' | 'OVER'
}

export const TRIES_MAX = 2
export const RESCHEDULES_MAX = 1

export type Step =
  | { does: 'run' }
  /** Decided in the transaction of its end, or not yet. */
  | { does: 'exit'; code: 0 | 1; decided: boolean }
  | { does: 'interrupt' }
  | { does: 'decide' }
  | { does: 'dispatch' }
  | { does: 'resubmit'; maxRetries: number | null }
  | { does: 'restart' }

export function newChain(maxRetries: number): ModelAttempt[] {
  return [attemptAfter(null, 'INITIAL', { epoch: 0, retryCount: 0, maxRetries })]
}

/** Applies a step to the chain; returns the same chain where it does not apply. */
export function step(chain: readonly ModelAttempt[], what: Step): ModelAttempt[] {
  const last = chain.at(-1)!
  const change = (fields: Partial<ModelAttempt>) => [...chain.slice(0, -1), { ...last, ...fields }]
  switch (what.does) {
    case 'run':
      return last.state === 'PENDING' ? change({ state: 'RUNNING', tries: 0 }) : [...chain]
    case 'exit': {
      if (last.state !== 'RUNNING') return [...chain]
      const ended = change({ state: what.code === 0 ? 'SUCCEEDED' : 'FAILED', tries: 0 })
      return what.decided ? step(ended, { does: 'decide' }) : ended
    }
    case 'interrupt':
      return last.state === 'PENDING' ? interrupted(last, change) : [...chain]
    case 'decide':
      if (last.next !== 'UNDECIDED' || (last.state !== 'FAILED' && last.state !== 'SUCCEEDED')) return [...chain]
      return change({ next: last.state === 'FAILED' && last.retryCount < last.maxRetries ? 'SCHEDULED' : 'OVER' })
    case 'dispatch': {
      if (last.next !== 'SCHEDULED') return [...chain]
      const { epoch, retryCount, maxRetries } = last
      const child = attemptAfter(last, 'AUTO_RETRY', { epoch, retryCount: retryCount + 1, maxRetries })
      return [...change({ next: 'OVER' }), child]
    }
    case 'resubmit': {
      if (last.state !== 'FAILED') return [...chain]
      const budget = { epoch: last.epoch + 1, retryCount: 0, maxRetries: what.maxRetries ?? last.maxRetries }
      return [...change({ next: 'OVER' }), attemptAfter(last, 'RESUBMISSION', budget)]
    }
    case 'restart':
      return [...chain]
  }
}

/** A kernel that cannot be prepared: again in place, then in another place, then it has failed. */
function interrupted(last: ModelAttempt, change: (fields: Partial<ModelAttempt>) => ModelAttempt[]): ModelAttempt[] {
  if (last.tries + 1 < TRIES_MAX) return change({ tries: last.tries + 1 })
  if (last.reschedules < RESCHEDULES_MAX) return change({ tries: 0, reschedules: last.reschedules + 1 })
  return change({ tries: 0, state: 'FAILED' })
}

function attemptAfter(
  parent: ModelAttempt | null,
  origin: ModelAttempt['origin'],
  budget: Pick<ModelAttempt, 'epoch' | 'retryCount' | 'maxRetries'>,
): ModelAttempt {
  const attempt = (parent?.attempt ?? 0) + 1
  return { attempt, origin, ...budget, state: 'PENDING', tries: 0, reschedules: 0, next: 'UNDECIDED' }
}
