import { CancelledIcon, FailedIcon, SucceededIcon } from '../../../design/icons.tsx'
import { At } from '../when.tsx'
import type { UiWebhookFragment } from '../webhooks.generated.ts'

/** Whether it is sent to, and whether that works. */
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
