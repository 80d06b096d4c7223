import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { ArrowLeftIcon } from '../../design/icons.tsx'
import { duration } from '../../words/duration.ts'
import { relativeMoment, type Moments } from '../../words/moment.ts'
import { ChainActions } from './chain-actions.tsx'
import { KeptCheckpoint } from './checkpoint-words.tsx'
import type { Chain } from './use-chain.ts'

interface Props {
  chain: Chain
  now: number
  moments: Moments
  onDone: () => void
}

const TONES: Readonly<Record<Chain['state'], string>> = {
  LIVE: 'running',
  WAITING_RETRY: 'running',
  HELD: 'held',
  SUCCEEDED: 'succeeded',
  FAILED: 'exit',
  CANCELLED: 'terminated',
}

export function ChainHeader({ chain, now, moments, onDone }: Props) {
  const created = Date.parse(chain.createdAt)
  const by = chain.firstAttempt.createdBy ?? chain.firstAttempt.user
  return (
    <header className="chain-header">
      <div className="chain-title">
        <Link to="/chains" className="back">
          <ArrowLeftIcon />
          Chains
        </Link>
        <h1 tabIndex={-1}>{chain.name}</h1>
        <p className={`state tint-${TONES[chain.state]}`}>
          <span className="state-dot" data-state={chain.state} aria-hidden="true" />
          {stateWords(chain)}
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

/** `waiting for retry 2 of 6`, `held: retries are switched off` */
function stateWords({ state, outlook, newestAttempt: { retryState, attempt } }: Chain): string {
  const retries = `${retryState.attempt} of ${retryState.maxAttempts - 1}`
  switch (state) {
    case 'LIVE':
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
