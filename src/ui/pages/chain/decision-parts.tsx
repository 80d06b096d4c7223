import { causeInWords } from '../../design/causes.ts'
import { duration } from '../../words/duration.ts'
import type { UiDecisionFragment } from './chain.generated.ts'

/** What decided, in words: `no rule matched`, `out of memory is retried`, `uses up a retry`. */
export function decisionWords({ matchedRule, cause, counted, phase }: UiDecisionFragment): string[] {
  const goesOn = phase === 'DISPATCHED' || phase === 'SCHEDULED' || phase === 'HELD'
  return [
    matchedRule === null ? 'no rule matched' : `rule ${matchedRule + 1} matched`,
    ...(cause === null ? [] : [causeInWords(cause, null)]),
    ...(goesOn ? [counted ? 'uses up a retry' : 'uses up no retry'] : []),
  ]
}

/** `7.5 s = 6.4 s + 1.1 s jitter`, drawn to scale. */
export function DelayParts({ decision }: { decision: UiDecisionFragment }) {
  const { baseDelaySeconds: base, jitterSeconds: jitter, delaySeconds: delay } = decision
  if (base === null || delay === null || delay <= 0) return null
  const added = jitter ?? 0
  const share = Math.min(1, Math.max(0, (delay - Math.max(0, added)) / delay))
  return (
    <div className="delay">
      <div className="delay-bar" aria-hidden="true">
        <span className="delay-base" style={{ flexGrow: share }} />
        {share < 1 && <span className="delay-jitter" style={{ flexGrow: 1 - share }} />}
      </div>
      <p>
        {exact(delay)} = {exact(base)} delay
        {added !== 0 && ` ${added > 0 ? '+' : '−'} ${exact(Math.abs(added))} jitter`}
        {Math.abs(base + added - delay) > 0.001 && ', up to the ceiling'}
      </p>
    </div>
  )
}

/** Short ones to the millisecond: so the sum can be checked. */
function exact(seconds: number): string {
  return seconds < 60 ? `${Number(seconds.toFixed(3))}\u00a0s` : duration(seconds)
}
