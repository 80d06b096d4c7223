import { getRouteApi } from '@tanstack/react-router'
import { useEffect, useMemo } from 'react'
import { barsOf, timelineOf, type Bar } from '../../timeline/bars.ts'
import type { EpochMark } from '../../timeline/timeline-svg.tsx'
import { TimelineView } from '../../timeline/timeline-view.tsx'
import { momentsIn, type Moments } from '../../words/moment.ts'
import { AttemptPanel } from './attempt-panel.tsx'
import { ChainHeader } from './chain-header.tsx'
import type { ChainSearch } from './chain-search.ts'
import { ChainTabs } from './chain-tabs.tsx'
import './chain.css'
import { TargetCard } from './target-card.tsx'
import { differenceWords } from './spec-words.ts'
import { useChain, usePlans, type Chain } from './use-chain.ts'
import { useLiveChain } from './use-live-chain.ts'
import { useNow } from './use-now.ts'

const route = getRouteApi('/frame/chains/$chainId')

export function ChainPage() {
  const { chainId } = route.useParams()
  const { data, error, refresh, segments, isPartial } = useChain(chainId)
  useLiveChain(chainId, data?.eventCursor, refresh)
  useEffect(() => {
    if (data?.chain) document.title = `${data.chain.name} · Reprise`
  }, [data?.chain])
  if (data?.chain)
    return <LoadedChain chain={data.chain} serverNow={data.now} refresh={refresh} {...{ segments, isPartial }} />
  if (error) return <Failure message={error.message} onAgain={refresh} />
  if (data) return <NotFound />
  return <Skeleton />
}

type LoadedProps = Pick<ReturnType<typeof useChain>, 'segments' | 'isPartial' | 'refresh'> & {
  chain: Chain
  serverNow: string
}

function LoadedChain({ chain, serverNow, segments, isPartial, refresh }: LoadedProps) {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const goesOn = chain.endedAt === null
  const now = useNow(serverNow, goesOn)
  const moments = useMemo(() => momentsIn('UTC'), [])
  const timeline = useMemo(() => timelineOf(segments, now), [segments, now])
  const { changes, schedule } = usePlans(chain)
  const bars = barsOf(timeline)
  const bar = bars.find(({ attempt }) => attempt === search.attempt) ?? bars.at(-1)
  const epochs = useMemo(() => epochMarks(chain, moments), [chain, moments])
  const set = (part: Partial<Record<keyof ChainSearch, unknown>>) =>
    void navigate({ search: (last: ChainSearch) => cleaned({ ...last, ...part }), replace: true, resetScroll: false })
  const choose = (attempt: number) => set({ attempt, line: undefined })
  useKeys(bars, bar, { choose, onTrueTime: () => set({ scale: search.scale ? undefined : true }) })
  return (
    <div className="chain-page">
      <ChainHeader chain={chain} now={now} moments={moments} onDone={refresh} />
      <TimelineView
        timeline={timeline}
        name={chain.name}
        now={now}
        moments={moments}
        offsetMinutes={0}
        epochs={epochs}
        chosen={bar?.attempt ?? null}
        onChoose={choose}
        onOpen={(attempt) => set({ attempt, tab: undefined, line: undefined })}
        isTrueTime={search.scale !== undefined}
        onTrueTime={(isTrue) => set({ scale: isTrue ? true : undefined })}
        range={search.from !== undefined ? { from: search.from, to: search.to! } : null}
        onRange={(range) => set({ from: range && Math.round(range.from), to: range && Math.round(range.to) })}
        further={schedule.length - (timeline.ghost === null ? 0 : 1)}
        isPartial={isPartial}
        renderCard={(target) => (
          <TargetCard target={target} timeline={timeline} moments={moments} now={now} schedule={schedule} />
        )}
      />
      {bar && (
        <div className="chain-columns">
          <AttemptPanel
            bar={bar}
            now={now}
            moments={moments}
            changes={changes}
            isNewest={bar === bars.at(-1)}
            ghost={timeline.ghost}
          />
          <ChainTabs
            key={bar.session.sessionId}
            bar={bar}
            next={bars[bars.indexOf(bar) + 1]}
            timeline={timeline}
            moments={moments}
            now={now}
            tab={search.tab ?? 'logs'}
            onTab={(tab) => set({ tab: tab === 'logs' ? undefined : tab })}
            line={search.line}
            onLine={(line) => set({ line })}
          />
        </div>
      )}
    </div>
  )
}

function cleaned(search: Partial<Record<keyof ChainSearch, unknown>>): ChainSearch {
  return Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined && value !== null))
}

/** `submitted 12:04 by ada`, `resubmitted 13:20 by bo, mem 4g to 8g` */
function epochMarks(chain: Chain, moments: Moments): EpochMark[] {
  return chain.epochs.map(({ epoch, at, attempt, by, overrides }) => {
    const words = overrides.map(({ field, before, value }) => differenceWords({ field, before, after: value }))
    const who = by ?? (epoch === 0 ? (chain.firstAttempt.createdBy ?? chain.firstAttempt.user) : null)
    const text = `${epoch === 0 ? 'submitted' : `epoch ${epoch}: resubmitted`} ${moments.minute(Date.parse(at))}${who ? ` by ${who}` : ''}`
    return { epoch, attempt, text: words.length > 0 ? `${text}, ${words.join(', ')}` : text }
  })
}

/** `[` and `]` choose the attempt before and after, `t` the scale: wherever one is, but where one types. */
function useKeys(
  bars: readonly Bar[],
  chosen: Bar | undefined,
  on: { choose: (attempt: number) => void; onTrueTime: () => void },
) {
  useEffect(() => {
    const listener = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement
      if (
        event.ctrlKey ||
        event.metaKey ||
        event.altKey ||
        target.matches('input, textarea, select, [contenteditable]')
      )
        return
      const at = chosen === undefined ? -1 : bars.indexOf(chosen)
      const moved = event.key === '[' ? bars[at - 1] : event.key === ']' ? bars[at + 1] : undefined
      if (moved) on.choose(moved.attempt)
      if (event.key === 't') on.onTrueTime()
    }
    addEventListener('keydown', listener)
    return () => removeEventListener('keydown', listener)
  })
}

function Failure({ message, onAgain }: { message: string; onAgain: () => void }) {
  return (
    <div className="chain-page">
      <div className="panel message" role="alert">
        <h1>This chain could not be read</h1>
        <p>{message}</p>
        <button type="button" className="button" onClick={onAgain}>
          Try again
        </button>
      </div>
    </div>
  )
}

function NotFound() {
  return (
    <div className="chain-page">
      <div className="panel message">
        <h1>There is no such chain</h1>
        <p>It does not exist, or it is in a project that you do not see.</p>
      </div>
    </div>
  )
}

/** As high as what comes, so that nothing moves. */
function Skeleton() {
  return (
    <div className="chain-page" aria-busy="true">
      <div className="skeleton skeleton-head" />
      <div className="skeleton skeleton-timeline" />
      <div className="chain-columns">
        <div className="skeleton skeleton-side" />
        <div className="skeleton skeleton-main" />
      </div>
    </div>
  )
}
