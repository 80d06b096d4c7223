import { REFUSAL_LENGTH_MAX } from '../domain/limits.ts'
import type { Logger } from '../observability/log.ts'

type RefusalSource = 'disk' | 'files' | 'isolation'

/** Why an agent takes no new kernels: each source has its own reason, or none. What runs goes on. */
export interface Refusals {
  /** All reasons, for people; null while it takes them. */
  readonly reason: string | null
  has(source: RefusalSource): boolean
  set(source: RefusalSource, reason: string | null): void
}

/** @param changed called whenever the reason is another one */
export function createRefusals(log: Logger, changed: () => void): Refusals {
  const reasons = new Map<string, string>()
  const all = () => (reasons.size === 0 ? null : [...reasons.values()].join('; ').slice(0, REFUSAL_LENGTH_MAX))
  return {
    get reason() {
      return all()
    },
    has: (source) => reasons.has(source),
    set(source, reason) {
      const before = all()
      if (reason === null) reasons.delete(source)
      else reasons.set(source, reason)
      const now = all()
      if (now === before) return
      if (now === null) log.info('this agent takes new kernels again')
      else log.error({ reason: now }, 'this agent takes no new kernels; those that run go on')
      changed()
    },
  }
}
