import { useEffect, useState } from 'react'
import { connection } from '../../api/connection.ts'
import { toneOf } from '../../design/causes.ts'
import { plainText } from '../../log/ansi.ts'
import { LogText } from '../../log/log-text.ts'
import { type Bar, barsOf, type Gap, type Ghost, type Timeline } from '../../timeline/bars.ts'
import type { Target } from '../../timeline/timeline-view.tsx'
import { endOf, lengthOf } from '../../timeline/words.ts'
import { countdown, duration, type Moments } from '../../words/time.ts'
import { decisionWords, DelayParts, useAttempt } from './attempt-panel.tsx'
import { type UiAttemptQuery, UiKernelLogDocument, type UiScheduleQuery } from './chain.generated.ts'

interface Props {
  target: Target
  timeline: Timeline
  moments: Moments
  now: number
  schedule: UiScheduleQuery['retryPolicyPreview']['schedule']
}

/** The card about a bar, a gap or the planned retry. */
export function TargetCard({ target, timeline, moments, now, schedule }: Props) {
  if (target.kind === 'ghost')
    return (
      <GhostCard
        ghost={timeline.ghost ?? target.ghost}
        schedule={schedule}
        now={now}
        moments={moments}
        timeline={timeline}
      />
    )
  const { item } = target
  if (item.type === 'gap') return <GapCard gap={item} moments={moments} timeline={timeline} />
  return <BarCard bar={barsOf(timeline).find(({ attempt }) => attempt === item.attempt) ?? item} moments={moments} />
}

function BarCard({ bar, moments }: { bar: Bar; moments: Moments }) {
  const data = useAttempt(bar.session.sessionId, bar.session.status)
  const lines = useLastLines(data)
  const agents = [...new Set(data?.kernels.flatMap(({ agent }) => (agent ? [agent.name] : [])))]
  const parts = bar.parts.filter((part) => lengthOf(part) > 0)
  const words = { QUEUED: 'queued', PREPARING: 'prepared', RUNNING: 'ran', ENDING: 'ended in' }
  return (
    <>
      <p className={`card-title tint-${toneOf(bar)}`}>
        <i className="swatch solid" />
        Attempt {bar.attempt}: {endOf(bar)}
      </p>
      <p className="card-times">
        {moments.clock(bar.from)} – {bar.isOpen ? 'now' : moments.clock(bar.to)}
        {agents.length > 0 && ` on ${agents.join(', ')}`}
      </p>
      <p>{parts.map((part) => `${words[part.kind]} ${duration(lengthOf(part))}`).join(' · ')}</p>
      {lines.length > 0 && <pre className="card-log">{lines.join('\n')}</pre>}
    </>
  )
}

const LINES = 3

/** The last lines of the main kernel's log. */
function useLastLines(session: UiAttemptQuery['session'] | undefined): string[] {
  const kernel = session?.kernels[0]
  const [lines, setLines] = useState<string[]>([])
  const [id, bytes] = [kernel?.id, kernel?.logBytes ?? 0]
  useEffect(() => {
    if (id === undefined || bytes === 0) return
    const left = new AbortController()
    const read = async () => {
      const { node } = await connection.request(
        UiKernelLogDocument,
        { kernelId: id, last: 2, before: null },
        { signal: left.signal },
      )
      if (node?.__typename !== 'Kernel') return
      const log = new LogText()
      log.append(node.logs.edges.map((edge) => edge.node))
      const from = Math.max(0, log.lineCount - LINES)
      setLines(
        Array.from({ length: log.lineCount - from }, (_, index) =>
          plainText(log.line(from + index).text).slice(0, 200),
        ),
      )
    }
    // The card is useful without these lines.
    read().catch(() => undefined)
    return () => left.abort()
  }, [id, bytes])
  return lines
}

function GapCard({ gap, moments, timeline }: { gap: Gap; moments: Moments; timeline: Timeline }) {
  const bar = barsOf(timeline).find(({ attempt }) => attempt === gap.attempt)
  const data = useAttempt(bar?.session.sessionId ?? '', `${gap.isOpen}`)
  const titles = { BACKOFF: 'Backoff', HELD: 'Held', RESUBMISSION_GAP: 'Until it was resubmitted' }
  const decision = data?.retryDecision
  return (
    <>
      <p className="card-title">
        {titles[gap.kind]} {gap.isOpen ? `for ${duration(lengthOf(gap))}` : duration(lengthOf(gap))}
      </p>
      <p className="card-times">
        {moments.clock(gap.from)} – {gap.isOpen ? 'now' : moments.clock(gap.to)}, after attempt {gap.attempt}
      </p>
      {gap.reason && <p>{gap.reason}</p>}
      {decision && gap.kind !== 'RESUBMISSION_GAP' && (
        <>
          <p>{decision.explanation}</p>
          <p className="card-times">{decisionWords(decision).join(' · ')}</p>
          <DelayParts decision={decision} />
        </>
      )}
    </>
  )
}

function GhostCard({
  ghost,
  schedule,
  now,
  moments,
  timeline,
}: {
  ghost: Ghost
  schedule: Props['schedule']
  now: number
  moments: Moments
  timeline: Timeline
}) {
  const hold = timeline.items.at(-1)
  const rest = schedule.slice(1, 6)
  return (
    <>
      <p className="card-title">
        Attempt {ghost.attempt}: {ghost.isHeld ? 'held' : `in ${countdown((ghost.at - now) / 1000)}`}
      </p>
      {!ghost.isHeld && <p className="card-times">due {moments.absolute(ghost.at)}</p>}
      {ghost.isHeld && hold?.type === 'gap' && hold.reason && <p>waits: {hold.reason}</p>}
      {ghost.reason && <p>{ghost.reason}</p>}
      {rest.length > 0 && (
        <p className="card-times">
          then, if it fails:{' '}
          {rest.map(({ earliestSeconds, latestSeconds }) => range(earliestSeconds, latestSeconds)).join(', ')}
          {schedule.length > 6 && ', …'}
        </p>
      )}
    </>
  )
}

function range(earliest: number, latest: number): string {
  const [from, to] = [duration(earliest), duration(latest)]
  return from === to ? from : `${from} to ${to}`
}
