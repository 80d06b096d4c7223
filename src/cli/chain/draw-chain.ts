import type { Attempt } from '../../client/node/index.ts'
import { binaryBytes } from '../output/bytes.ts'
import { statusStyle } from '../output/status-style.ts'
import type { Terminal } from '../output/terminal.ts'
import { instant, relative } from '../output/time.ts'
import { outcomeOf, ranFor, statusWord, whyRetried } from '../session/describe-session.ts'
import { usedWords } from '../session/used-words.ts'

/** All attempts, each below its parent, with what they went on from, and the reasons for the retries in between. */
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
      const below = [checkpointWords(attempt), why === null ? null : `${phase}: ${why}${when}`]
      return [
        parts.filter(Boolean).join('  '),
        ...below.flatMap((words) => (words === null ? [] : [`${stem}  ${terminal.style('dim', words)}`])),
      ].join('\n')
    })
    .join('\n')
}

function checkpointWords({ checkpoint: { state, fromAttempt, bytes, publishedAt, note } }: Attempt): string | null {
  if (state === 'NONE') return null
  if (state === 'MISSING') return note
  if (fromAttempt === null) return 'went on from a checkpoint'
  const size = bytes === null ? '' : ` (${binaryBytes(bytes)})`
  const when = publishedAt === null ? '' : `, of ${instant(publishedAt)}`
  return `went on from the checkpoint of attempt ${fromAttempt}${size}${when}`
}
