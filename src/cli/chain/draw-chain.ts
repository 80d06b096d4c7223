import type { Attempt } from '../../client/node/index.ts'
import { statusStyle } from '../output/status-style.ts'
import type { Terminal } from '../output/terminal.ts'
import { relative } from '../output/time.ts'
import { outcomeOf, ranFor, statusWord, whyRetried } from '../session/describe-session.ts'
import { usedWords } from '../session/used-words.ts'

/** All attempts, each below its parent, with the reasons for the retries in between. */
export function drawChain(attempts: readonly Attempt[], here: string, terminal: Terminal): string {
  return attempts
    .map((attempt, index) => {
      const last = index === attempts.length - 1
      const word = statusWord(attempt)
      const style = statusStyle(word)
      const status = style ? terminal.style(style, word) : word
      const origin = attempt.origin === 'RESUBMISSION' ? '(resubmitted)' : ''
      const used = attempt.usage && usedWords(attempt.usage)
      const parts = [
        `${last ? '└─' : '├─'} ${attempt.attempt}`,
        attempt.sessionId,
        status,
        outcomeOf(attempt),
        attempt.startedAt ? `ran ${ranFor(attempt)}${used === null ? '' : ` (${used})`}` : '',
        origin,
        attempt.sessionId === here ? '← this' : '',
      ]
      const why = whyRetried(attempt)
      const { phase, scheduledAt } = attempt.retryState
      const when = phase === 'SCHEDULED' && scheduledAt ? ` (${relative(scheduledAt)})` : ''
      const stem = last ? '   ' : '│  '
      const line = parts.filter(Boolean).join('  ')
      return why === null ? line : `${line}\n${stem}  ${terminal.style('dim', `${phase}: ${why}${when}`)}`
    })
    .join('\n')
}
