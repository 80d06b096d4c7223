import { getRouteApi } from '@tanstack/react-router'
import { useEffect, useMemo } from 'react'
import { setServerNow, useServerNow } from '../../api/clock.ts'
import { stateName } from '../../app/chain-parts.tsx'
import { useKeys } from '../../app/keys.ts'
import { useMoments } from '../../app/moments.tsx'
import { useTitle } from '../../app/page.tsx'
import { SwitchesAhead } from '../../app/retry/switches.tsx'
import { Button } from '../../design/controls.tsx'
import { barsOf, timelineOf } from '../../timeline/bars.ts'
import type { EpochMark } from '../../timeline/timeline-svg.tsx'
import { TimelineView } from '../../timeline/timeline-view.tsx'
import type { Moments } from '../../words/time.ts'
import { AttemptPanel } from './attempt-panel.tsx'
import { ChainHeader } from './chain-header.tsx'
import type { ChainSearch } from './chain-search.ts'
import { ChainTabs } from './chain-tabs.tsx'
import { differenceWords } from './spec-words.ts'
import { TargetCard } from './target-card.tsx'
import { type Chain, useChain, useLiveChain, usePlans } from './use-chain.ts'
import './chain.css'

const route = getRouteApi('/frame/chains/$chainId')

export function ChainPage() {
  const { chainId } = route.useParams()
  const { data, error, reread, segments, isPartial } = useChain(chainId)
  useLiveChain(chainId, data?.eventCursor, reread)
  useEffect(() => {
    if (data) setServerNow(data.now)
  }, [data])
  useTitle(data?.chain ? `${stateName(data.chain)} · ${data.chain.name}` : 'Chain')
  if (data?.chain)
    return <LoadedChain chain={data.chain} serverNow={data.now} reread={reread} {...{ segments, isPartial }} />
  if (error) return <Failure message={error.message} onAgain={() => void reread()} />
  if (data) return <NotFound />
  return <Skeleton />
}

type LoadedProps = Pick<ReturnType<typeof useChain>, 'segments' | 'isPartial' | 'reread'> & {
  chain: Chain
  serverNow: string
}

function LoadedChain({ chain, serverNow, segments, isPartial, reread }: LoadedProps) {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const goesOn = chain.endedAt === null
  const ticking = useServerNow(goesOn)
  const now = goesOn ? ticking : Date.parse(serverNow)
  const moments = useMoments()
  const timeline = useMemo(() => timelineOf(segments, now), [segments, now])
  const { changes, schedule } = usePlans(chain)
  const bars = barsOf(timeline)
  const bar = bars.find(({ attempt }) => attempt === search.attempt) ?? bars.at(-1)
  const epochs = useMemo(() => epochMarks(chain, moments), [chain, moments])
  const set = (part: Partial<Record<keyof ChainSearch, unknown>>) =>
    void navigate({ search: (last: ChainSearch) => cleaned({ ...last, ...part }), replace: true, resetScroll: false })
  const choose = (attempt: number) => set({ attempt, line: undefined })
  const move = (by: number) => {
    const to = bar && bars[bars.indexOf(bar) + by]
    if (to) choose(to.attempt)
  }
  useKeys([
    { keys: '[', does: 'the attempt before', run: () => move(-1) },
    { keys: ']', does: 'the attempt after', run: () => move(1) },
    { keys: 't', does: 'true time, and back', run: () => set({ scale: search.scale ? undefined : true }) },
  ])
  return (
    <div className="chain-page">
      <ChainHeader chain={chain} now={now} moments={moments} onDone={() => void reread()} />
      {chain.state === 'WAITING_RETRY' && <SwitchesAhead project={chain.project} />}
      <TimelineView
        timeline={timeline}
        name={chain.name}
        now={now}
        moments={moments}
        offsetMinutes={moments.offsetMinutes(now)}
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
            project={chain.project}
          />
          <ChainTabs
            // The joined log is not read again when another attempt is chosen.
            key={search.log ?? bar.session.sessionId}
            chainId={chain.chainId}
            bar={bar}
            bars={bars}
            timeline={timeline}
            moments={moments}
            now={now}
            tab={search.tab ?? 'logs'}
            onTab={(tab) => set({ tab: tab === 'logs' ? undefined : tab })}
            line={search.line}
            onLine={(line) => set({ line })}
            isAll={search.log === 'all'}
            onAll={(isAll) => set({ log: isAll ? 'all' : undefined, line: undefined })}
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
    const changed = overrides.filter(({ before, value }) => before !== value)
    const words = changed.map(({ field, before, value }) => differenceWords({ field, before, after: value }))
    const who = by ?? (epoch === 0 ? (chain.firstAttempt.createdBy ?? chain.firstAttempt.user) : null)
    const text = `${epoch === 0 ? 'submitted' : `epoch ${epoch}: resubmitted`} ${moments.minute(Date.parse(at))}${who ? ` by ${who}` : ''}`
    return { epoch, attempt, text: words.length > 0 ? `${text}, ${words.join(', ')}` : text }
  })
}

function Failure({ message, onAgain }: { message: string; onAgain: () => void }) {
  return (
    <div className="chain-page">
      <div className="chain-panel message" role="alert">
        <h1>This chain could not be read</h1>
        <p>{message}</p>
        <Button onClick={onAgain}>Try again</Button>
      </div>
    </div>
  )
}

function NotFound() {
  return (
    <div className="chain-page">
      <div className="chain-panel message">
        <h1>There is no such chain</h1>
        <p>It does not exist, or it is in a project that you do not see.</p>
      </div>
    </div>
  )
}

/** A placeholder as high as the page, so that nothing moves. */
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
