import { useRef, useState, type ReactNode } from 'react'
import { useMutation } from 'urql'
import {
  UiCancelRetryDocument,
  UiResubmitDocument,
  UiRetryNowDocument,
  UiTerminateDocument,
} from './chain.generated.ts'
import { ResubmitForm, type Overrides } from './resubmit-form.tsx'
import type { Chain } from './use-chain.ts'

type Action = Chain['actions'][number]['action']

/** What can be done with a chain now. What cannot says why; what was refused stays beside the buttons. */
export function ChainActions({ chain, onDone }: { chain: Chain; onDone: () => void }) {
  const { sessionId } = chain.newestAttempt
  const [message, setMessage] = useState<string | null>(null)
  const [isBusy, setIsBusy] = useState(false)
  const [asked, setAsked] = useState<'TERMINATE' | 'RESUBMIT' | null>(null)
  const [, retryNow] = useMutation(UiRetryNowDocument)
  const [, cancelRetry] = useMutation(UiCancelRetryDocument)
  const [, terminate] = useMutation(UiTerminateDocument)
  const [, resubmit] = useMutation(UiResubmitDocument)
  const verdicts = new Map(chain.actions.map((verdict) => [verdict.action, verdict]))

  const run = async (act: () => Promise<{ data?: object; error?: Error }>) => {
    setIsBusy(true)
    setMessage(null)
    const { data, error } = await act()
    setIsBusy(false)
    setAsked(null)
    setMessage(error?.message ?? refusalOf(data))
    onDone()
  }
  const acts: Record<Action, () => void> = {
    RETRY_NOW: () => void run(() => retryNow({ sessionId })),
    CANCEL_RETRY: () => void run(() => cancelRetry({ sessionId })),
    TERMINATE: () => setAsked('TERMINATE'),
    RESUBMIT: () => setAsked('RESUBMIT'),
  }
  const button = (action: Action, text: string, className = 'button') => {
    const verdict = verdicts.get(action)
    if (verdict === undefined || (!verdict.allowed && action !== 'TERMINATE' && action !== 'RESUBMIT')) return null
    const reason = verdict.allowed ? undefined : (verdict.reason ?? undefined)
    return (
      <button
        type="button"
        className={className}
        aria-disabled={!verdict.allowed || isBusy}
        title={reason}
        onClick={() => (verdict.allowed && !isBusy ? acts[action]() : reason && setMessage(reason))}
      >
        {text}
      </button>
    )
  }
  return (
    <div className="actions">
      {button('RETRY_NOW', 'Retry now', 'button primary')}
      {button('CANCEL_RETRY', 'Cancel retry')}
      {button('TERMINATE', 'Terminate')}
      {button('RESUBMIT', 'Resubmit…')}
      {message !== null && (
        <p className="action-message" role="alert">
          {message}
          <button type="button" className="tool" aria-label="Dismiss" onClick={() => setMessage(null)}>
            ×
          </button>
        </p>
      )}
      {asked === 'TERMINATE' && (
        <Dialog title="Terminate 1 chain?" onClose={() => setAsked(null)}>
          <p>
            {chain.state === 'LIVE'
              ? `Attempt ${chain.newestAttempt.attempt} of ${chain.name} is stopped, and no retry follows.`
              : `The retry that ${chain.name} waits for is given up.`}
          </p>
          <div className="dialog-buttons">
            <button type="button" className="button" onClick={() => setAsked(null)}>
              Keep it
            </button>
            <button
              type="button"
              className="button danger"
              disabled={isBusy}
              onClick={() => void run(() => terminate({ sessionId, reason: null }))}
            >
              Terminate
            </button>
          </div>
        </Dialog>
      )}
      {asked === 'RESUBMIT' && (
        <Dialog title={`Resubmit ${chain.name}`} onClose={() => setAsked(null)}>
          <ResubmitForm
            sessionId={sessionId}
            isBusy={isBusy}
            onCancel={() => setAsked(null)}
            onSubmit={(overrides: Overrides) => void run(() => resubmit({ sessionId, overrides, clientKey: null }))}
          />
        </Dialog>
      )}
    </div>
  )
}

interface Refusable {
  message?: string
  refused?: readonly { message: string }[]
}

/** Why nothing was done; null if it was. */
function refusalOf(data: object | undefined): string | null {
  const [result] = Object.values(data ?? {}) as (Refusable | undefined)[]
  return result?.message ?? result?.refused?.[0]?.message ?? null
}

function Dialog({ title, onClose, children }: { title: string; onClose: () => void; children: ReactNode }) {
  const opened = useRef(false)
  return (
    <dialog
      className="dialog"
      aria-labelledby="dialog-title"
      ref={(element) => {
        if (element === null || opened.current) return
        opened.current = true
        element.showModal()
      }}
      onClose={onClose}
    >
      <h2 id="dialog-title">{title}</h2>
      {children}
    </dialog>
  )
}
