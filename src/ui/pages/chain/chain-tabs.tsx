import type { KeyboardEvent } from 'react'
import type { Bar, Timeline } from '../../timeline/bars.ts'
import type { Moments } from '../../words/moment.ts'
import { useAttempt } from './attempt-panel.tsx'
import { CHAIN_TABS, type ChainTab } from './chain-search.ts'
import { DecisionTab } from './decision-tab.tsx'
import { HistoryTab } from './history-tab.tsx'
import { KernelsTab } from './kernels-tab.tsx'
import { LogsTab } from './logs-tab.tsx'
import { SpecTab } from './spec-tab.tsx'
import '../../design/controls.css'

interface Props {
  bar: Bar
  bars: readonly Bar[]
  timeline: Timeline
  moments: Moments
  now: number
  tab: ChainTab
  onTab: (tab: ChainTab) => void
  line: number | undefined
  onLine: (line: number) => void
  isAll: boolean
  onAll: (isAll: boolean) => void
}

const NAMES: Readonly<Record<ChainTab, string>> = {
  logs: 'Logs',
  decision: 'Decision',
  history: 'History',
  spec: 'Spec',
  kernels: 'Kernels',
}

export function ChainTabs({ bar, bars, timeline, moments, now, tab, onTab, line, onLine, isAll, onAll }: Props) {
  const session = useAttempt(bar.session.sessionId, bar.session.status)
  const kernels = session?.kernels ?? []
  const isRead = session !== undefined
  const onKey = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
    if (step === 0) return
    event.preventDefault()
    const to = CHAIN_TABS[(CHAIN_TABS.indexOf(tab) + step + CHAIN_TABS.length) % CHAIN_TABS.length]!
    onTab(to)
    document.getElementById(`tab-${to}`)?.focus()
  }
  return (
    <section className="chain-panel tabs-panel" aria-label={`Attempt ${bar.attempt}`}>
      {/* oxlint-disable-next-line jsx-a11y/interactive-supports-focus -- the chosen tab has the focus */}
      <div className="tabs" role="tablist" aria-label="About this attempt" onKeyDown={onKey}>
        {CHAIN_TABS.map((each) => (
          <button
            key={each}
            id={`tab-${each}`}
            type="button"
            role="tab"
            className="tab"
            aria-selected={each === tab}
            aria-controls="tab-body"
            tabIndex={each === tab ? 0 : -1}
            onClick={() => onTab(each)}
          >
            {NAMES[each]}
            {each === 'kernels' && kernels.length > 1 && <span className="tab-count">{kernels.length}</span>}
          </button>
        ))}
      </div>
      <div id="tab-body" className={`tab-body tab-${tab}`} role="tabpanel" aria-labelledby={`tab-${tab}`}>
        {tab === 'logs' && <LogsTab {...{ bar, bars, kernels, isRead, timeline, now, line, onLine, isAll, onAll }} />}
        {tab === 'decision' && <DecisionTab decision={session?.retryDecision ?? null} bar={bar} moments={moments} />}
        {tab === 'history' && (
          <HistoryTab sessionId={bar.session.sessionId} status={bar.session.status} moments={moments} />
        )}
        {tab === 'spec' && <SpecTab sessionId={bar.session.sessionId} />}
        {tab === 'kernels' && <KernelsTab {...{ kernels, isRead, moments }} />}
      </div>
    </section>
  )
}
