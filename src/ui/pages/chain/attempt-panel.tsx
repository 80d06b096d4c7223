import { useQuery } from 'urql'
import { useReread, useRereadWhen } from '../../api/poll.ts'
import { startNote } from '../../app/chain-parts.tsx'
import { useSwitchedOff, whoSwitched } from '../../app/retry/switches.tsx'
import { causeInWords, kindOf, letterOf, TIMED_OUT, toneOf } from '../../design/causes.ts'
import type { Bar, Ghost, PartKind, SegmentSession } from '../../timeline/bars.ts'
import { checkpointWords, endOf, lengthOf } from '../../timeline/words.ts'
import { amountWords, bytes, memoryWords } from '../../words/numbers.ts'
import { countdown, duration, type Moments, relativeMoment } from '../../words/time.ts'
import { UiAttemptDocument, type UiAttemptQuery, type UiDecisionFragment } from './chain.generated.ts'
import { differenceWords } from './spec-words.ts'
import { AttemptGpus } from './attempt-gpus.tsx'
import { Says } from './attempt-failure.tsx'
import type { Chain } from './use-chain.ts'

type UiAttempt = NonNullable<UiAttemptQuery['session']>

interface Props {
  bar: Bar
  now: number
  moments: Moments
  changes: readonly { attempt: number; differences: Parameters<typeof differenceWords>[0][] }[]
  isNewest: boolean
  ghost: Ghost | null
  project: Chain['project']
}

const PARTS: readonly { kind: PartKind; word: string }[] = [
  { kind: 'QUEUED', word: 'queued' },
  { kind: 'PREPARING', word: 'preparing' },
  { kind: 'RUNNING', word: 'ran' },
  { kind: 'ENDING', word: 'ending' },
]

/**
 * How long it ran, as its agent measured it. Without a measurement the server only knows when it learned of the end,
 * which may be late after an outage.
 */
function ranWords({ terminatedAt, usage }: UiAttempt, seconds: number): string {
  if (terminatedAt === null) return duration(seconds)
  return usage?.wallSeconds == null ? `at most ${duration(seconds)}` : duration(usage.wallSeconds)
}

export function AttemptPanel({ bar, now, moments, changes, isNewest, ghost, project }: Props) {
  const { attempt, session } = bar
  const data = useAttempt(session.sessionId, `${session.status} ${isNewest} ${ghost?.at}`)
  const decision = data?.retryDecision ?? null
  const parent = data?.parentSession?.retryDecision ?? null
  const own = changes.find((each) => each.attempt === attempt)?.differences ?? []
  const next = changes.find((each) => each.attempt === attempt + 1)?.differences ?? []
  const agent = data?.kernels.find((kernel) => kernel.agent)?.agent
  const tone = toneOf(bar)
  const isImpossible = data?.impossible === true
  // The words for a timeout have its reason already.
  const known = bar.cause === TIMED_OUT ? null : bar.reason
  const reason = data?.pendingReason ?? known ?? (data ? startNote(data) : null)
  return (
    <section className="chain-panel attempt" aria-labelledby="attempt-title">
      <h2 id="attempt-title">
        <span className={`attempt-mark tint-${tone}`} aria-hidden="true">
          {letterOf(bar) ?? (tone === 'succeeded' && <Check />)}
        </span>
        Attempt {attempt}
        <span className="attempt-end">{endOf(bar)}</span>
        <span className="attempt-total">{duration(lengthOf(bar))}</span>
      </h2>
      {reason !== null && bar.outcome !== 'SUCCEEDED' && (
        <p className={`attempt-reason${isImpossible ? ' tone-held' : ''}`}>{reason}</p>
      )}
      {bar.outcome === 'FAILED' && (
        <Says
          key={session.sessionId}
          sessionId={session.sessionId}
          endedForMs={bar.to === null ? null : now - bar.to}
        />
      )}
      <dl className="durations">
        {PARTS.map(({ kind, word }) => {
          const seconds = bar.parts.filter((part) => part.kind === kind).reduce((sum, part) => sum + lengthOf(part), 0)
          return (
            <div key={kind} className={seconds === 0 ? 'none' : undefined}>
              <dt>{word}</dt>
              <dd>{seconds === 0 ? '–' : kind === 'RUNNING' && data ? ranWords(data, seconds) : duration(seconds)}</dd>
            </div>
          )
        })}
      </dl>
      <dl className="facts-list">
        <dt>began</dt>
        <dd>
          <time dateTime={new Date(bar.from).toISOString()}>{moments.absolute(bar.from)}</time>
        </dd>
        <dt>agent</dt>
        <dd>{agent?.name ?? '–'}</dd>
        <dt>resources</dt>
        <dd>
          {data?.resourceSlots.map(({ slot, amount }) => `${slot} ${amountWords(slot, amount)}`).join(', ') ?? '–'}
        </dd>
        {data?.usage && (
          <>
            <dt>used</dt>
            <dd>{formatUsage(data.usage)}</dd>
          </>
        )}
        {data && data.gpus.length > 0 && (
          <>
            <dt>GPUs</dt>
            <dd>
              <AttemptGpus attempt={data} isLive={data.terminatedAt === null} />
            </dd>
          </>
        )}
        {session.checkpoint.state !== 'NONE' && (
          <>
            <dt>checkpoint</dt>
            <dd>
              <FoundCheckpoint session={session} publishedAt={data?.checkpoint.publishedAt ?? null} moments={moments} />
            </dd>
          </>
        )}
        {data?.terminatedBy && (
          <>
            <dt>terminated by</dt>
            <dd>{data.terminatedBy}</dd>
          </>
        )}
      </dl>
      {decision && (
        <WhyNext decision={decision} attempt={attempt} ghost={isNewest ? ghost : null} now={now} project={project} />
      )}
      {decision && hasNext(decision) && <Changes title={`What changes in attempt ${attempt + 1}`} differences={next} />}
      {parent && attempt > 1 && <Changes title="What changed before this one" differences={own} />}
    </section>
  )
}

function formatUsage({ cpuSeconds, peakMemoryBytes, source }: NonNullable<UiAttempt['usage']>): string {
  const words = [
    cpuSeconds === null ? null : `${duration(cpuSeconds)} of CPU time`,
    peakMemoryBytes === null ? null : `${memoryWords(peakMemoryBytes)} of memory`,
  ].filter((each) => each !== null)
  if (words.length === 0) return '–'
  return `${source === 'PROCESSES' ? 'about ' : ''}${words.join(', ')}`
}

function Check() {
  return (
    <svg width="12" height="12" viewBox="0 0 12 12">
      <path
        d="m2.5 6.5 2.5 2.5 4.5-5.5"
        fill="none"
        stroke="currentColor"
        strokeWidth="2"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  )
}

/** The detail of an attempt; read again when `version` changes. */
export function useAttempt(sessionId: string, version: string) {
  const variables = { sessionId }
  const [{ data }] = useQuery({ query: UiAttemptDocument, variables, requestPolicy: 'cache-and-network' })
  useRereadWhen(version, useReread(UiAttemptDocument, variables))
  return data?.session
}

function hasNext({ phase }: UiDecisionFragment): boolean {
  return phase === 'DISPATCHED'
}

function WhyNext({
  decision,
  attempt,
  ghost,
  now,
  project,
}: {
  decision: UiDecisionFragment
  attempt: number
  ghost: Ghost | null
  now: number
  project: Chain['project']
}) {
  const off = useSwitchedOff(project)
  const goesOn = decision.phase === 'DISPATCHED' || decision.phase === 'SCHEDULED' || decision.phase === 'HELD'
  return (
    <div className="why">
      <h3>{goesOn ? `Why there is an attempt ${attempt + 1}` : 'Why no retry follows'}</h3>
      <p>{decision.explanation}</p>
      <p className="why-words">{decisionWords(decision).join(' · ')}</p>
      <DelayParts decision={decision} />
      {ghost && !ghost.isHeld && (
        <p className="why-next">
          due in {countdown((ghost.at - now) / 1000)}
          {off && <span className="tone-held">, and then held: {whoSwitched(off)}</span>}
        </p>
      )}
    </div>
  )
}

function Changes({
  title,
  differences,
}: {
  title: string
  differences: readonly Parameters<typeof differenceWords>[0][]
}) {
  return (
    <div className="why">
      <h3>{title}</h3>
      {differences.length === 0 ? (
        <p className="soft">nothing</p>
      ) : (
        <ul className="differences">
          {differences.map((difference) => (
            <li key={difference.field}>{differenceWords(difference)}</li>
          ))}
        </ul>
      )}
    </div>
  )
}

/** The reasons of a decision: `no rule matched`, `out of memory is retried`, `uses up a retry`. */
export function decisionWords({
  matchedRule,
  cause,
  counted: isCounted,
  phase,
  session,
}: UiDecisionFragment): string[] {
  const kind = kindOf({ failureCause: cause, ...session })
  const goesOn = phase === 'DISPATCHED' || phase === 'SCHEDULED' || phase === 'HELD'
  return [
    matchedRule === null ? 'no rule matched' : `rule ${matchedRule + 1} matched`,
    ...(kind === null ? [] : [causeInWords(kind, null)]),
    ...(goesOn ? [isCounted ? 'uses up a retry' : 'uses up no retry'] : []),
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

/** Short delays to the millisecond, so that the sum can be checked. */
function exact(seconds: number): string {
  return seconds < 60 ? `${Number(seconds.toFixed(3))}\u00a0s` : duration(seconds)
}

interface FoundProps {
  session: SegmentSession
  publishedAt: string | null
  moments: Moments
}

/** The checkpoint that an attempt found, with its time; or why there was none. */
function FoundCheckpoint({ session, publishedAt, moments }: FoundProps) {
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

/** The checkpoint for the next attempt, and whether other agents have it too. */
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
