import type { KeyboardEvent } from 'react'
import { useQuery } from 'urql'
import { useReread, useRereadWhen } from '../../api/poll.ts'
import { HistoryTable } from '../../app/history.tsx'
import type { Bar, Timeline } from '../../timeline/bars.ts'
import { bytes } from '../../words/numbers.ts'
import { duration, type Moments } from '../../words/time.ts'
import { decisionWords, DelayParts, useAttempt } from './attempt-panel.tsx'
import { CHAIN_TABS, type ChainTab } from './chain-search.ts'
import { type UiAttemptQuery, type UiDecisionFragment, UiHistoryDocument } from './chain.generated.ts'
import { LogsTab } from './logs-tab.tsx'
import { OutputsTab } from './outputs-tab.tsx'
import { SpecTab } from './spec-tab.tsx'
import '../../design/controls.css'
import '../../design/table.css'

interface Props {
  chainId: string
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
  outputs: 'Outputs',
  decision: 'Decision',
  history: 'History',
  spec: 'Spec',
  kernels: 'Kernels',
}

export function ChainTabs(props: Props) {
  const { chainId, bar, bars, timeline, moments, now, tab, onTab, line, onLine, isAll, onAll } = props
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
        {tab === 'logs' && (
          <LogsTab {...{ chainId, bar, bars, kernels, isRead, timeline, now, line, onLine, isAll, onAll }} />
        )}
        {tab === 'outputs' && (
          <OutputsTab key={bar.session.sessionId} sessionId={bar.session.sessionId} moments={moments} />
        )}
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

/** The scheduler's history of an attempt. */
function HistoryTab({ sessionId, status, moments }: { sessionId: string; status: string; moments: Moments }) {
  const variables = { sessionId, after: null }
  const [{ data, error }] = useQuery({ query: UiHistoryDocument, variables, requestPolicy: 'cache-and-network' })
  useRereadWhen(status, useReread(UiHistoryDocument, variables))
  if (error)
    return (
      <p className="chain-empty" role="alert">
        {error.message}
      </p>
    )
  const entries = data?.session?.schedulingHistory.edges.map(({ node }) => node)
  if (entries === undefined) return <div className="skeleton skeleton-rows" aria-busy="true" />
  if (entries.length === 0) return <p className="chain-empty">Nothing has been done with it yet.</p>
  return <HistoryTable label="History" entries={entries} moments={moments} />
}

type Kernel = NonNullable<UiAttemptQuery['session']>['kernels'][number]

/** The processes of an attempt. */
function KernelsTab({ kernels, isRead, moments }: { kernels: readonly Kernel[]; isRead: boolean; moments: Moments }) {
  if (!isRead) return null
  if (kernels.length === 0) return <p className="chain-empty">It has no kernels yet.</p>
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- the keyboard scrolls it
    <div className="record-scroll" role="region" aria-label="Kernels" tabIndex={0}>
      <table className="record-table">
        <thead>
          <tr>
            <th scope="col">kernel</th>
            <th scope="col">status</th>
            <th scope="col">agent</th>
            <th scope="col">exit</th>
            <th scope="col">started</th>
            <th scope="col">ended</th>
            <th scope="col" className="number-cell">
              log
            </th>
          </tr>
        </thead>
        <tbody>
          {kernels.map((kernel) => (
            <tr key={kernel.id}>
              <td className="nowrap">
                {kernel.role} {kernel.index}
              </td>
              <td>{kernel.status.toLowerCase()}</td>
              <td>{kernel.agent?.name ?? '–'}</td>
              <td title={kernel.reason ?? undefined}>
                {kernel.oomKilled ? 'out of memory' : (kernel.exitCode ?? '–')}
              </td>
              <td className="nowrap">
                {kernel.startedAt === null ? '–' : moments.clock(Date.parse(kernel.startedAt))}
              </td>
              <td className="nowrap">
                {kernel.terminatedAt === null ? '–' : moments.clock(Date.parse(kernel.terminatedAt))}
              </td>
              <td className="number-cell">{bytes(kernel.logBytes)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** Why there is another attempt or none, with everything that was considered. */
function DecisionTab({ decision, bar, moments }: { decision: UiDecisionFragment | null; bar: Bar; moments: Moments }) {
  if (decision === null)
    return (
      <p className="chain-empty">
        {bar.outcome === 'LIVE'
          ? 'The decision follows when this attempt has ended.'
          : 'Nothing was decided about this attempt.'}
      </p>
    )
  const moment = (at: string | null) => (at === null ? '–' : moments.absolute(Date.parse(at)))
  return (
    <div className="tab-pad">
      <p className="decision-sentence">{decision.explanation}</p>
      <DelayParts decision={decision} />
      <dl className="facts-list">
        <dt>phase</dt>
        <dd>{decision.phase.toLowerCase().replace('_', ' ')}</dd>
        <dt>because</dt>
        <dd>{decisionWords(decision).join(', ')}</dd>
        <dt>decided</dt>
        <dd>{moment(decision.decidedAt)}</dd>
        <dt>due</dt>
        <dd>{moment(decision.dueAt)}</dd>
        <dt>dispatched</dt>
        <dd>{moment(decision.dispatchedAt)}</dd>
      </dl>
      {decision.holds.length > 0 && (
        <>
          <h3>Held</h3>
          <table className="record-table">
            <thead>
              <tr>
                <th scope="col">from</th>
                <th scope="col">for</th>
                <th scope="col">by</th>
              </tr>
            </thead>
            <tbody>
              {decision.holds.map((hold) => (
                <tr key={hold.from}>
                  <td className="nowrap">{moments.clock(Date.parse(hold.from))}</td>
                  <td className="nowrap">
                    {hold.to === null ? 'until now' : duration((Date.parse(hold.to) - Date.parse(hold.from)) / 1000)}
                  </td>
                  <td>{hold.reason}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </>
      )}
    </div>
  )
}
