import type { SegmentSession } from '../../timeline/bars.ts'
import { checkpointWords } from '../../timeline/item-words.ts'
import { bytes } from '../../words/count.ts'
import { relativeMoment, type Moments } from '../../words/moment.ts'
import type { Chain } from './use-chain.ts'

interface FoundProps {
  session: SegmentSession
  publishedAt: string | null
  moments: Moments
}

/** What an attempt found, and when that was made; or why it has none. */
export function FoundCheckpoint({ session, publishedAt, moments }: FoundProps) {
  const { state, bytes: size, note } = session.checkpoint
  return (
    <>
      {note ?? `${checkpointWords(session)}${size === null ? '' : ` (${bytes(size)})`}`}
      {publishedAt !== null && (
        <span className="checkpoint-made">
          {state === 'FETCHED' ? 'copied' : 'recorded'}{' '}
          <time dateTime={publishedAt}>{moments.absolute(Date.parse(publishedAt))}</time>
        </span>
      )}
    </>
  )
}

interface KeptProps {
  chain: Chain
  now: number
  moments: Moments
}

/** What a next attempt would find, and whether it would elsewhere, too. */
export function KeptCheckpoint({ chain, now, moments }: KeptProps) {
  const { checkpointBytes: size, checkpointAttempt: attempt, checkpointPublishedAt, checkpointCopiedAt } = chain
  if (!size && attempt === null) return null
  const when = (word: string, at: string) => (
    <time dateTime={at} title={moments.absolute(Date.parse(at))}>
      {word} {relativeMoment(Date.parse(at), now)}
    </time>
  )
  return (
    <li>
      checkpoint{attempt === null ? '' : ` of attempt ${attempt}`}
      {size ? `, ${bytes(size)}` : ''}
      {checkpointPublishedAt !== null && <>, {when('recorded', checkpointPublishedAt)}</>}
      {checkpointCopiedAt !== null && <>, {when('copied to the server', checkpointCopiedAt)}</>}
    </li>
  )
}
