import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useAct, useSend } from '../../app/act.ts'
import { GuardedButton } from '../../app/guarded-button.tsx'
import { lazyDialog } from '../../app/lazy-part.tsx'
import { toast } from '../../app/toasts.tsx'
import { noChange, useViewer } from '../../app/viewer.ts'
import { TextField, typedMoment, typedNumber } from '../../design/controls.tsx'
import { CancelledIcon, FailedIcon, SucceededIcon } from '../../design/icons.tsx'
import { counted } from '../../words/numbers.ts'
import { At } from './section.tsx'
import {
  UiDeleteWebhookDocument,
  UiReplayWebhookDocument,
  UiRotateSecretDocument,
  UiSendTestEventDocument,
  UiUpdateWebhookDocument,
  type UiWebhookFragment,
} from './webhooks.generated.ts'

const SecretDialog = lazyDialog(() => import('./secret-dialog.tsx'), 'SecretDialog')
const WebhookForm = lazyDialog(() => import('./webhook-form.tsx'), 'WebhookForm')
const FormDialog = lazyDialog(() => import('../../app/form-dialog.tsx'), 'FormDialog')
const Confirm = lazyDialog(() => import('../../app/confirm.tsx'), 'Confirm')

type Open = 'change' | 'off' | 'delete' | 'rotate' | 'replay'

/** The actions on a webhook. */
export function WebhookActs({ webhook, again }: { webhook: UiWebhookFragment; again: () => void }) {
  const { webhookId, enabled, url } = webhook
  const refusal = noChange(useViewer())
  const act = useAct()
  const navigate = useNavigate()
  const [open, setOpen] = useState<Open | null>(null)
  const [secret, setSecret] = useState<string | null>(null)
  const close = () => setOpen(null)
  const done = () => {
    close()
    again()
  }
  const enable = async (isOn: boolean) => {
    const words = { about: url, done: isOn ? 'The webhook is on.' : 'The webhook is off.' }
    await act(UiUpdateWebhookDocument, { input: { webhookId, enabled: isOn } }, words)
    done()
  }
  const test = async () => {
    await act(UiSendTestEventDocument, { webhookId }, { about: url, done: 'A test event is on its way.' })
    again()
  }
  const remove = async () => {
    close()
    const removed = await act(UiDeleteWebhookDocument, { webhookId }, { about: url, done: 'The webhook is deleted.' })
    if (removed) void navigate({ to: '/settings/webhooks' })
  }
  const button = (words: string, run: () => void, why: string | null = null) => (
    <GuardedButton refusal={refusal ?? why} onClick={run}>
      {words}
    </GuardedButton>
  )
  const off = enabled ? null : 'It is off: nothing is sent.'
  return (
    <>
      {button('Send a test', () => void test(), off)}
      {button('Replay…', () => setOpen('replay'), off)}
      {button('New secret…', () => setOpen('rotate'))}
      {button('Change…', () => setOpen('change'))}
      {enabled ? button('Switch off…', () => setOpen('off')) : button('Switch on', () => void enable(true))}
      {button('Delete…', () => setOpen('delete'))}
      <>
        {open === 'change' && <WebhookForm changed={webhook} onDone={done} onClose={close} />}
        {open === 'off' && (
          <Confirm title="Switch off 1 webhook?" act="Switch off" onAct={() => void enable(false)} onClose={close}>
            Nothing is sent to {url} while it is off. Events of that time can be replayed for 14 days.
          </Confirm>
        )}
        {open === 'delete' && (
          <Confirm title="Delete 1 webhook?" act="Delete" onAct={() => void remove()} onClose={close}>
            {url} receives nothing any more. Its deliveries are deleted too, pending ones included. This cannot be
            undone.
          </Confirm>
        )}
        {open === 'rotate' && (
          <Rotate
            webhookId={webhookId}
            onClose={close}
            onDone={(made) => {
              done()
              setSecret(made)
            }}
          />
        )}
        {open === 'replay' && <Replay webhookId={webhookId} onClose={close} onDone={done} />}
        {secret !== null && (
          <SecretDialog
            title="The new secret of the webhook"
            says="Until the old one ends, requests carry the signatures of both."
            secret={secret}
            onClose={() => setSecret(null)}
          />
        )}
      </>
    </>
  )
}

interface DialogProps<Done> {
  webhookId: string
  onDone: Done
  onClose: () => void
}

const HOUR_SECONDS = 3_600

function Rotate({ webhookId, onDone, onClose }: DialogProps<(secret: string) => void>) {
  const send = useSend()
  const submit = async (form: HTMLFormElement) => {
    const hours = typedNumber(form, 'hours')
    const overlapSeconds = typeof hours === 'number' ? hours * HOUR_SECONDS : hours
    const { done, problem } = await send(UiRotateSecretDocument, { input: { webhookId, overlapSeconds } })
    if (problem) return problem
    onDone(done.secret)
    return null
  }
  return (
    <FormDialog
      title="New secret"
      note="For a while requests are signed with both, so that the endpoint can be updated."
      act="Make a new secret"
      fields={['overlapSeconds']}
      onSend={submit}
      onClose={onClose}
    >
      {(faults) => (
        <TextField
          label="The old one signs for, hours"
          hint="empty: a day; at most 7 days"
          fault={faults['overlapSeconds']}
          wide
          name="hours"
          inputMode="decimal"
          placeholder="24"
        />
      )}
    </FormDialog>
  )
}

function Replay({ webhookId, onDone, onClose }: DialogProps<() => void>) {
  const send = useSend()
  const submit = async (form: HTMLFormElement) => {
    const since = typedMoment(form, 'since')
    if (since === null) {
      const issues = [{ path: 'since', message: 'From when on?' }]
      return { message: issues[0]!.message, code: null, issues }
    }
    const { done, problem } = await send(UiReplayWebhookDocument, { input: { webhookId, since } })
    if (problem) return problem
    const more = done.more ? ' There are more: replay again.' : ''
    toast('done', `${counted(done.replayed, 'delivery', 'deliveries')} sent again.${more}`)
    onDone()
    return null
  }
  return (
    <FormDialog
      title="Replay"
      note="Sends what the endpoint has missed: failed deliveries, and events while it was off."
      act="Replay"
      fields={['since']}
      onSend={submit}
      onClose={onClose}
    >
      {(faults) => (
        <TextField
          label="From when on"
          hint="at most 14 days ago"
          fault={faults['since']}
          wide
          name="since"
          type="datetime-local"
        />
      )}
    </FormDialog>
  )
}

/** Whether the webhook is on, and whether its deliveries succeed. */
export function WebhookState({ webhook }: { webhook: UiWebhookFragment }) {
  const { enabled, disabledAt, disabledReason, failingSince, restingUntil } = webhook
  if (!enabled)
    return (
      <>
        <span className="settings-state">
          <CancelledIcon className="tone-unknown" /> off{' '}
          {disabledAt !== null && (
            <>
              since <At at={disabledAt} />
            </>
          )}
        </span>
        {disabledReason !== null && <span className="settings-aside">{disabledReason}</span>}
      </>
    )
  if (failingSince !== null)
    return (
      <span className="settings-state">
        <FailedIcon className="tone-exit" /> fails since <At at={failingSince} />
      </span>
    )
  return (
    <span className="settings-state">
      <SucceededIcon className="tone-succeeded" /> on
      {restingUntil !== null && (
        <>
          , rests until <At at={restingUntil} />
        </>
      )}
    </span>
  )
}
