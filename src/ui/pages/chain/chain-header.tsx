import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { UiCancelRetryDocument, UiRetryNowDocument, UiTerminateDocument } from '../../api/act.generated.ts'
import { useAct } from '../../app/act.ts'
import type { ShownState } from '../../app/chain-parts.tsx'
import { useKeys } from '../../app/keys.ts'
import { lazyDialog } from '../../app/lazy-part.tsx'
import { BackLink } from '../../app/places.tsx'
import { SWITCHED_OFF, useSwitchedOff } from '../../app/retry/switches.tsx'
import { toast } from '../../app/toasts.tsx'
import { Button, Keys } from '../../design/controls.tsx'
import { ArrowLeftIcon } from '../../design/icons.tsx'
import { count } from '../../words/numbers.ts'
import { duration, type Moments, relativeMoment } from '../../words/time.ts'
import { KeptCheckpoint } from './attempt-panel.tsx'
import { Expectation } from './expectation.tsx'
import type { Chain } from './use-chain.ts'

interface Props {
  chain: Chain
  now: number
  moments: Moments
  onDone: () => void
}

const TONES: Readonly<Record<ShownState, string>> = {
  QUEUED: 'queued',
  IMPOSSIBLE: 'held',
  RUNNING: 'running',
  WAITING_RETRY: 'running',
  HELD: 'held',
  SUCCEEDED: 'succeeded',
  FAILED: 'exit',
  CANCELLED: 'terminated',
}

export function ChainHeader({ chain, now, moments, onDone }: Props) {
  const off = useSwitchedOff(chain.project)
  const created = Date.parse(chain.createdAt)
  const { schedule } = chain.firstAttempt
  const newest = chain.newestAttempt
  const by = chain.firstAttempt.createdBy ?? chain.firstAttempt.user
  return (
    <header className="chain-header">
      <div className="chain-title">
        <BackLink to="/chains" className="back">
          <ArrowLeftIcon />
          Chains
        </BackLink>
        <h1 tabIndex={-1}>{chain.name}</h1>
        <p className={`state tint-${TONES[chain.state as ShownState]}`}>
          <span className="state-dot" data-state={chain.state} aria-hidden="true" />
          {stateWords(chain)}
          {off && chain.state === 'WAITING_RETRY' && `, but ${SWITCHED_OFF}`}
          {newest.status === 'RUNNING' && newest.progress !== null && `: ${newest.progress}`}
        </p>
        <ChainActions chain={chain} onDone={onDone} />
      </div>
      <ul className="facts">
        {chain.labels.map(({ key, value }) => (
          <li key={key} className="chip">
            {key}={value}
          </li>
        ))}
        <li>{chain.project.name}</li>
        <li>{chain.newestAttempt.resourceGroup.name}</li>
        <li>
          created {by && `by ${by} `}
          <time dateTime={chain.createdAt} title={moments.absolute(created)}>
            {relativeMoment(created, now)}
          </time>
        </li>
        {chain.group && (
          <li>
            {placeWords(chain.groupIndex!, chain.group.counts.total)} in{' '}
            <Link to="/groups/$groupId" params={{ groupId: chain.group.groupId }}>
              {chain.group.name}
            </Link>
          </li>
        )}
        {schedule && (
          <li>
            schedule{' '}
            <Link to="/schedules/$scheduleId" params={{ scheduleId: schedule.scheduleId }}>
              {schedule.name}
            </Link>
          </li>
        )}
        {chain.endedAt === null && <Expectation key={newest.status} sessionId={newest.sessionId} />}
        <li>times in {moments.zone(now)}</li>
        <li>ran {duration(chain.runningSeconds)}</li>
        <li>waited {duration(chain.waitingSeconds)}</li>
        <KeptCheckpoint chain={chain} now={now} moments={moments} />
        <li>
          <CopyId id={chain.chainId} />
        </li>
      </ul>
    </header>
  )
}

/** `7 of 20`; `number 120`, where the indexes are others than 0 to 20. */
function placeWords(index: number, total: number): string {
  return index <= total ? `${count(index)} of ${count(total)}` : `number ${count(index)}`
}

/** `waiting for retry 2 of 6`, `held: retries are switched off` */
function stateWords({ state, outlook, newestAttempt: { retryState, attempt } }: Chain): string {
  const retries = `${retryState.attempt} of ${retryState.maxAttempts - 1}`
  switch (state as ShownState) {
    case 'QUEUED':
      return `attempt ${attempt} is queued`
    case 'IMPOSSIBLE':
      return `attempt ${attempt} cannot start: no agent or quota could take it`
    case 'RUNNING':
      return `attempt ${attempt} in progress`
    case 'WAITING_RETRY':
      return `waiting for retry ${retries}`
    case 'HELD':
      return `retry ${retries} is held`
    case 'SUCCEEDED':
      return attempt === 1 ? 'succeeded' : `succeeded on attempt ${attempt}`
    case 'FAILED':
      return outlook.reason
    case 'CANCELLED':
      return 'terminated'
  }
}

function CopyId({ id }: { id: string }) {
  const [copied, setCopied] = useState(false)
  return (
    <button
      type="button"
      className="copy-id"
      title={id}
      onClick={() => void navigator.clipboard.writeText(id).then(() => setCopied(true))}
    >
      {copied ? 'copied' : `id ${id.slice(0, 8)}…`}
    </button>
  )
}

const Confirm = lazyDialog(() => import('../../app/confirm.tsx'), 'Confirm')
const ResubmitDialog = lazyDialog(() => import('./resubmit-form.tsx'), 'ResubmitDialog')

type Action = Chain['actions'][number]['action']

/** The actions on a chain. Those that are not possible now show the reason. */
function ChainActions({ chain, onDone }: { chain: Chain; onDone: () => void }) {
  const { name, newestAttempt } = chain
  const { sessionId } = newestAttempt
  const [isBusy, setIsBusy] = useState(false)
  const [asked, setAsked] = useState<'TERMINATE' | 'RESUBMIT' | null>(null)
  const act = useAct()
  const verdicts = new Map(chain.actions.map((verdict) => [verdict.action, verdict]))

  const during = async (work: () => Promise<unknown>) => {
    setIsBusy(true)
    await work()
    setIsBusy(false)
    setAsked(null)
    onDone()
  }
  const acts: Record<Action, () => void> = {
    RETRY_NOW: () =>
      void during(() => act(UiRetryNowDocument, { sessionId }, { about: name, done: `${name} is retried now.` })),
    CANCEL_RETRY: () =>
      void during(() =>
        act(UiCancelRetryDocument, { sessionId }, { about: name, done: `${name} is not retried any more.` }),
      ),
    TERMINATE: () => setAsked('TERMINATE'),
    RESUBMIT: () => setAsked('RESUBMIT'),
  }
  useKeys([
    {
      keys: 'r',
      does: 'retry now',
      run: () => {
        const { allowed, reason } = verdicts.get('RETRY_NOW') ?? { allowed: false, reason: null }
        if (allowed && !isBusy) acts.RETRY_NOW()
        else if (reason !== null) toast('refused', reason)
      },
    },
  ])
  const button = (action: Action, words: string, kind: 'plain' | 'primary' = 'plain') => {
    const verdict = verdicts.get(action)
    if (verdict === undefined || (!verdict.allowed && action !== 'TERMINATE' && action !== 'RESUBMIT')) return null
    const reason = verdict.allowed ? undefined : (verdict.reason ?? undefined)
    return (
      <Button
        kind={kind}
        aria-disabled={!verdict.allowed || isBusy}
        title={reason}
        onClick={() => {
          if (verdict.allowed && !isBusy) acts[action]()
          else if (reason !== undefined) toast('refused', reason)
        }}
      >
        {words}
        {action === 'RETRY_NOW' && <Keys keys="r" />}
      </Button>
    )
  }
  return (
    <div className="actions">
      {button('RETRY_NOW', 'Retry now', 'primary')}
      {button('CANCEL_RETRY', 'Cancel retry')}
      {button('TERMINATE', 'Terminate')}
      {button('RESUBMIT', 'Resubmit…')}
      <>
        {asked === 'TERMINATE' && (
          <Confirm
            title="Terminate 1 chain?"
            act="Terminate"
            isBusy={isBusy}
            onClose={() => setAsked(null)}
            onAct={() =>
              void during(() =>
                act(
                  UiTerminateDocument,
                  { sessionId, reason: null },
                  { about: name, done: `${name} is being terminated.` },
                ),
              )
            }
          >
            {chain.state === 'RUNNING'
              ? `Attempt ${newestAttempt.attempt} of ${name} is stopped, and no retry follows.`
              : chain.state === 'QUEUED' || chain.state === 'IMPOSSIBLE'
                ? `Attempt ${newestAttempt.attempt} of ${name} does not start, and no retry follows.`
                : `The retry that ${name} waits for is given up.`}
          </Confirm>
        )}
        {asked === 'RESUBMIT' && (
          <ResubmitDialog
            name={name}
            sessionId={sessionId}
            onClose={() => setAsked(null)}
            onDone={() => {
              setAsked(null)
              onDone()
            }}
          />
        )}
      </>
    </div>
  )
}
