import { Link } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import type { BacktestUnknownReason, SessionFilter } from '../../client/schema-types.generated.ts'
import { connection } from '../api/connection.ts'
import { session } from '../api/login.ts'
import { isUnauthenticated, problemOf } from '../api/problem.ts'
import { Button } from '../design/controls.tsx'
import { count, counted, percentage } from '../words/numbers.ts'
import { duration } from '../words/time.ts'
import {
  UiBacktestDocument,
  type UiBacktestOutcomesFragment as Outcomes,
  type UiBacktestSubscription,
  type UiBacktestSubscriptionVariables,
} from './policy.generated.ts'
import './policy.css'
import './backtest.css'

type Progress = UiBacktestSubscription['retryBacktestProgress']
type Report = NonNullable<Progress['backtest']>

interface Props {
  /** The API's input. An unchanged policy must stay the same object. */
  policy: object
  base?: 'DEFAULTS' | 'OWN_POLICY'
  airflow?: object | null
  filter?: SessionFilter | null
}

/** What the policy would have made of the chains of the last 30 days. It is computed when somebody asks for it. */
export function Backtest({ policy, base, airflow, filter }: Props) {
  const { state, begin, cancel } = useBacktest({ policy, base, airflow, filter })
  const isOld = state.kind === 'done' && state.policy !== policy
  return (
    <section className="backtest" aria-label="Backtest">
      <div className="policy-part">
        <h2>What it would have changed</h2>
        <span className="policy-aside">in the chains of the last 30 days</span>
      </div>
      {state.kind === 'failed' && (
        <p className="policy-hint" role="alert">
          {state.message}
        </p>
      )}
      {state.kind === 'running' ? (
        <Running progress={state.progress} onCancel={cancel} />
      ) : (
        <div className="policy-buttons">
          <Button onClick={begin}>{state.kind === 'done' ? 'Replay again' : 'Replay the last 30 days'}</Button>
          <span className="policy-aside" role="status">
            {isOld && 'The policy has changed since.'}
          </span>
        </div>
      )}
      {state.kind === 'done' && (
        <div data-stale={isOld || undefined} className="backtest-report">
          <Shown report={state.report} />
        </div>
      )}
    </section>
  )
}

function Running({ progress, onCancel }: { progress: Progress | null; onCancel: () => void }) {
  const share = progress?.share ?? 0
  return (
    <div className="backtest-running">
      <progress aria-label="Progress of the backtest" max={1} value={share} />
      <span className="policy-aside">
        {percentage(share, 1)}, {counted(progress?.chains ?? 0, 'chain')}
      </span>
      <Button kind="quiet" onClick={onCancel}>
        Cancel
      </Button>
    </div>
  )
}

function Shown({ report }: { report: Report }) {
  const { recorded, isComplete, outcomes, airflow } = report
  if (recorded.chains === 0) return <p className="policy-hint">No chain ended.</p>
  return (
    <>
      <p className="policy-verdict">
        <strong>{counted(recorded.chains, 'chain')}</strong>
        {!isComplete && ' (the newest; there are more)'}, {counted(recorded.attempts, 'attempt')},{' '}
        {counted(recorded.succeeded, 'success', 'successes')}
      </p>
      <OutcomeTable outcomes={outcomes} label="Under the policy" />
      <Notes outcomes={outcomes} />
      {airflow !== null && <OutcomeTable outcomes={airflow.outcomes} label="Under Airflow's settings" isTitled />}
    </>
  )
}

type Row = [title: string, chains: number, attempts: string, cpu: string, successes: string]

function OutcomeTable({ outcomes, label, isTitled }: { outcomes: Outcomes; label: string; isTitled?: boolean }) {
  const { same, earlier, longer, unknown } = outcomes
  const { successes, low, high } = longer.expected
  const sum = (of: (each: Outcomes['unknown'][number]) => number) => unknown.reduce((all, each) => all + of(each), 0)
  const rows: readonly Row[] = [
    ['End alike', same.chains, '', '', ''],
    [
      'Stop earlier',
      earlier.chains,
      signed(-earlier.attempts, count),
      signed(-earlier.slotSeconds, duration),
      signed(-earlier.successesLost, count),
    ],
    [
      'Continue longer',
      longer.chains,
      atMost(signed(longer.attempts, count)),
      atMost(signed(longer.slotSeconds, duration)),
      longer.chains === 0 ? '' : `+${successes.toFixed(1)} (${low.toFixed(1)} to ${high.toFixed(1)})`,
    ],
    [
      'Unknown',
      sum(({ chains }) => chains),
      atMost(
        signed(
          sum(({ attempts }) => attempts),
          count,
        ),
      ),
      '',
      '',
    ],
  ]
  return (
    <table className="policy-table backtest-table" aria-label={label}>
      {isTitled && <caption>{label}</caption>}
      <thead>
        <tr>
          {['Chains', 'Number', 'Attempts', 'CPU time', 'Successes'].map((title) => (
            <th key={title} scope="col">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(([title, chains, attempts, cpu, lost]) => (
          <tr key={title}>
            <th scope="row">{title}</th>
            <td>{count(chains)}</td>
            <td>{attempts}</td>
            <td>{cpu}</td>
            <td>{lost}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function signed(value: number, words: (value: number) => string): string {
  if (value === 0) return ''
  return `${value < 0 ? '−' : '+'}${words(Math.abs(value))}`
}

function atMost(text: string): string {
  return text && `≤ ${text}`
}

const REASONS: Readonly<Record<BacktestUnknownReason, string>> = {
  NO_COMPARABLE: 'would have been retried more often, and too few recorded retries are comparable',
  OTHER_SIZE: 'would have had other resources or another timeout, which decide',
  OTHER_TIME: 'would have been retried when the outage may or may not have been over',
  TOO_LONG: 'have too many attempts',
}

const NAMES_SHOWN = 5

/** Names what is lost, and says what the estimate rests on. */
function Notes({ outcomes: { earlier, longer, unknown } }: { outcomes: Outcomes }) {
  const notes: [key: string, text: ReactNode][] = earlier.lost
    .slice(0, NAMES_SHOWN)
    .map(({ name, project, successes, exampleChainIds }) => [
      `${project} ${name}`,
      <>
        {counted(successes, 'success', 'successes')} of{' '}
        <Link to="/chains/$chainId" params={{ chainId: exampleChainIds[0]! }} className="text-link">
          {name}
        </Link>{' '}
        lost
      </>,
    ])
  const names = earlier.lost.length - notes.length
  if (names > 0) notes.push(['more', `and successes of ${counted(names, 'more name')}`])
  const { chains, comparable } = longer.expected
  if (chains > 0)
    notes.push([
      'expected',
      `The expected successes of ${counted(chains, 'chain')} rest on ${counted(comparable, 'comparable retry', 'comparable retries')}; the range is the 95 % interval.`,
    ])
  for (const each of unknown) notes.push([each.reason, `${counted(each.chains, 'chain')}: ${REASONS[each.reason]}`])
  return (
    <ul className="backtest-notes">
      {notes.map(([key, text]) => (
        <li key={key}>{text}</li>
      ))}
    </ul>
  )
}

type State =
  | { kind: 'idle' }
  | { kind: 'running'; progress: Progress | null }
  | { kind: 'done'; report: Report; policy: object }
  | { kind: 'failed'; message: string }

/** Runs a backtest; leaving the page cancels it. */
function useBacktest(variables: UiBacktestSubscriptionVariables) {
  const [state, setState] = useState<State>({ kind: 'idle' })
  const running = useRef<AbortController | null>(null)
  useEffect(() => () => running.current?.abort(), [])
  const run = async (signal: AbortSignal) => {
    const events = connection.stream<UiBacktestSubscription, UiBacktestSubscriptionVariables>(
      UiBacktestDocument,
      variables,
      { signal },
    )
    for await (const { retryBacktestProgress: progress } of events) {
      const { backtest } = progress
      setState(
        backtest === null
          ? { kind: 'running', progress }
          : { kind: 'done', report: backtest, policy: variables.policy },
      )
    }
  }
  const begin = () => {
    running.current?.abort()
    const { signal } = (running.current = new AbortController())
    setState({ kind: 'running', progress: null })
    run(signal).catch((refused: unknown) => {
      if (signal.aborted) return
      if (isUnauthenticated(refused)) session.set('gone')
      setState({ kind: 'failed', message: problemOf(refused).message })
    })
  }
  const cancel = () => {
    running.current?.abort()
    setState({ kind: 'idle' })
  }
  return { state, begin, cancel }
}
