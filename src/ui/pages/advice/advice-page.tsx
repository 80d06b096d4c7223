import { getRouteApi, Link } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { usePolled } from '../../api/poll.ts'
import { useAct } from '../../app/act.ts'
import { IgnoredParameters, useChangeSearch } from '../../app/list/list-page.tsx'
import { Tabs } from '../../app/list/list-filters.tsx'
import { Ago } from '../../app/moments.tsx'
import { Outdated, ProblemPanel, useTitle } from '../../app/page.tsx'
import { noAdministration, useViewer } from '../../app/viewer.ts'
import { Button } from '../../design/controls.tsx'
import { Skeleton } from '../../design/panel.tsx'
import { Backtest } from '../../policy/backtest.tsx'
import { givenOf } from '../../policy/policy-draft.ts'
import { count } from '../../words/numbers.ts'
import { shortDuration } from '../../words/time.ts'
import {
  UiAdviceDocument,
  type UiFoundAdviceFragment,
  UiApplyAdviceDocument,
  UiDismissAdviceDocument,
} from './advice.generated.ts'
import './advice.css'

const route = getRouteApi('/frame/advice')

/** It is looked for once an hour. */
const EVERY_MS = 30_000

const STATES = { open: 'OPEN', applied: 'APPLIED', dismissed: 'DISMISSED' } as const
type StateWord = keyof typeof STATES
const TABS: Record<StateWord, string> = { open: 'Open', applied: 'Applied', dismissed: 'Dismissed' }
const NONE: Record<StateWord, string> = {
  open: 'Nothing in the last 30 days suggests a change.',
  applied: 'Nothing was applied.',
  dismissed: 'Nothing was dismissed.',
}

/** What the last 30 days suggest to change, what wastes most first. */
export function AdvicePage() {
  const { show = 'open', project, dropped } = route.useSearch()
  const change = useChangeSearch<'advice'>()
  const { data, error, again } = usePolled(
    UiAdviceDocument,
    {
      ...(project === undefined ? { scope: 'CLUSTER' as const } : { scope: 'PROJECT' as const, name: project }),
      states: [STATES[show]],
    },
    EVERY_MS,
  )
  useTitle('Advice')
  return (
    <div className="advice-page">
      <div className="page-head">
        <h1 tabIndex={-1}>Advice</h1>
      </div>
      <IgnoredParameters names={dropped} />
      <Tabs
        label="By state"
        tabs={(Object.keys(TABS) as StateWord[]).map((tab) => ({ tab, name: TABS[tab], counted: null }))}
        chosen={show}
        onChoose={(chosen) => change({ show: chosen === 'open' ? undefined : chosen })}
      />
      {data && <Outdated error={error} />}
      {data ? (
        data.retryAdvice.length === 0 ? (
          <div className="empty">
            <h2>{NONE[show]}</h2>
            {show === 'open' && <p>The server looks once an hour. Few failures are no evidence, and give no advice.</p>}
          </div>
        ) : (
          <ol className="advice-list">
            {data.retryAdvice.map((each) => (
              <li key={each.adviceId}>
                <Found advice={each} onDone={again} />
              </li>
            ))}
          </ol>
        )
      ) : error ? (
        <ProblemPanel error={error} onAgain={again} />
      ) : (
        <div className="panel">
          <Skeleton />
        </div>
      )}
    </div>
  )
}

function Found({ advice, onDone }: { advice: UiFoundAdviceFragment; onDone: () => void }) {
  const { finding, change, project, state, stateBy, stateAt, foundAt, exampleChainIds, patch } = advice
  const [isTried, setTried] = useState(false)
  return (
    <article className="panel advice">
      <p className="advice-facts">
        <strong>{wasteOf(advice)}</strong>
        <span>{project?.name ?? 'machines'}</span>
        <span>
          found <Ago at={foundAt} said="found" />
        </span>
        {state !== 'OPEN' && stateAt !== null && (
          <span>
            {state === 'APPLIED' ? 'applied' : 'dismissed'} by {stateBy} <Ago at={stateAt} said="changed" />
          </span>
        )}
      </p>
      <p className="advice-finding">{finding}</p>
      <p className="advice-change">{change}</p>
      {exampleChainIds.length > 0 && (
        <p className="advice-examples">
          For example{' '}
          {exampleChainIds.map((chainId, index) => (
            <span key={chainId}>
              {index > 0 && ', '}
              <Link to="/chains/$chainId" params={{ chainId }} className="text-link">
                chain {chainId.slice(-6)}
              </Link>
            </span>
          ))}
          {patch.drainAgentId !== null && (
            <>
              {' · '}
              <Link to="/agents/$agentId" params={{ agentId: patch.drainAgentId }} className="text-link">
                the agent
              </Link>
            </>
          )}
        </p>
      )}
      <Actions advice={advice} onDone={onDone} onTry={patch.policy && !isTried ? () => setTried(true) : null} />
      {isTried && patch.policy !== null && project !== null && <Tried policy={patch.policy} project={project.name} />}
    </article>
  )
}

function wasteOf({ slotSecondsWasted, gibHoursWasted }: UiFoundAdviceFragment): string {
  if (gibHoursWasted > 0 && slotSecondsWasted === 0) return `${count(Math.ceil(gibHoursWasted))} GiB hours`
  return `${shortDuration(slotSecondsWasted)} of CPU time`
}

interface ActionsProps {
  advice: UiFoundAdviceFragment
  onDone: () => void
  /** Null if there is nothing to try. */
  onTry: (() => void) | null
}

function Actions({ advice, onDone, onTry }: ActionsProps) {
  const { adviceId, change, canApply, state, project } = advice
  const act = useAct()
  const refusal = noAdministration(useViewer(), project === null ? 'CLUSTER' : 'PROJECT')
  const apply = async () => {
    const done = await act(
      UiApplyAdviceDocument,
      { input: { adviceId } },
      { about: 'Not applied', done: `Applied: ${change}` },
    )
    if (done) onDone()
  }
  const dismiss = async (dismissed: boolean) => {
    const words = dismissed ? 'Dismissed until its evidence has doubled.' : 'Open again.'
    const done = await act(
      UiDismissAdviceDocument,
      { input: { adviceId, dismissed } },
      { about: 'Not changed', done: words },
    )
    if (done) onDone()
  }
  return (
    <div className="advice-actions">
      {state === 'OPEN' && canApply && (
        <Button kind="primary" disabled={refusal !== null} onClick={() => void apply()}>
          Apply
        </Button>
      )}
      {onTry && <Button onClick={onTry}>Try on the past</Button>}
      {state === 'OPEN' ? (
        <Button kind="quiet" disabled={refusal !== null} onClick={() => void dismiss(true)}>
          Dismiss
        </Button>
      ) : (
        <Button kind="quiet" disabled={refusal !== null} onClick={() => void dismiss(false)}>
          Open again
        </Button>
      )}
      {refusal !== null ? (
        <span className="advice-note">{refusal}</span>
      ) : (
        !canApply && <span className="advice-note">Change it where these sessions are submitted.</span>
      )}
    </div>
  )
}

function Tried({
  policy,
  project,
}: {
  policy: NonNullable<UiFoundAdviceFragment['patch']['policy']>
  project: string
}) {
  const [given, filter] = useMemo(() => [givenOf(policy), { project }], [policy, project])
  return <Backtest policy={given} base="OWN_POLICY" filter={filter} />
}
