import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useQuery } from 'urql'
import { useAct } from '../../../app/act/act.ts'
import { GuardedButton } from '../../../app/form/guarded-button.tsx'
import { noChange } from '../../../app/form/rights.ts'
import { useViewer } from '../../../app/viewer.ts'
import { FailedIcon, SucceededIcon, WaitingIcon } from '../../../design/icons.tsx'
import { duration } from '../../../words/duration.ts'
import { Rows, type Column } from '../rows.tsx'
import { At, When } from '../when.tsx'
import { UiPayloadDocument, UiReplayDeliveryDocument, type UiDeliveryFragment } from '../webhooks.generated.ts'

interface Props {
  deliveries: readonly UiDeliveryFragment[]
  isNarrowed: boolean
  again: () => void
}

/** What was sent, what came back, and what is still to be sent. */
export function Deliveries({ deliveries, isNarrowed, again }: Props) {
  const refusal = noChange(useViewer())
  const act = useAct()
  const replay = async ({ deliveryId, eventType }: UiDeliveryFragment) => {
    const words = { about: eventType, done: `${eventType} is sent again.` }
    if (await act(UiReplayDeliveryDocument, { deliveryId }, words)) again()
  }
  return (
    <Rows
      label="Deliveries"
      className="settings-deliveries"
      columns={COLUMNS}
      rows={deliveries}
      keyOf={({ id }) => id}
      renderActs={(delivery) => (
        <GuardedButton
          kind="quiet"
          refusal={refusal ?? (delivery.status === 'PENDING' ? 'It is on its way already.' : null)}
          aria-label={`Send again: ${delivery.eventType}`}
          onClick={() => void replay(delivery)}
        >
          Send again
        </GuardedButton>
      )}
      empty={
        isNarrowed ? (
          <h2>No delivery is in this state</h2>
        ) : (
          <>
            <h2>Nothing was sent yet</h2>
            <p>A test event shows whether the endpoint is reached.</p>
          </>
        )
      }
    />
  )
}

const STATES = {
  DELIVERED: { Icon: SucceededIcon, tone: 'tone-succeeded', words: 'delivered' },
  FAILED: { Icon: FailedIcon, tone: 'tone-exit', words: 'failed' },
  PENDING: { Icon: WaitingIcon, tone: 'tone-queued', words: 'waiting' },
} as const

const COLUMNS: readonly Column<UiDeliveryFragment>[] = [
  {
    title: 'Event',
    cell: ({ eventType, chainId }) => (
      <>
        <span className="settings-main">{eventType}</span>
        {chainId !== null && (
          <Link to="/chains/$chainId" params={{ chainId }} className="settings-aside settings-link">
            its chain
          </Link>
        )}
      </>
    ),
  },
  {
    title: 'State',
    cell: ({ status }) => {
      const { Icon, tone, words } = STATES[status]
      return (
        <span className="settings-state">
          <Icon className={tone} /> {words}
        </span>
      )
    },
  },
  { title: 'Attempts', cell: (delivery) => <Attempts delivery={delivery} /> },
  { title: 'Happened', isNamed: true, cell: ({ occurredAt }) => <At at={occurredAt} /> },
]

/** What the last one came to; all of them, and what was sent, when it is opened. */
function Attempts({ delivery }: { delivery: UiDeliveryFragment }) {
  const { attempts, nextAttemptAt } = delivery
  const [isOpen, setOpen] = useState(false)
  const last = attempts.at(-1)
  return (
    <details className="settings-details" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {last ? `${attempts.length}: ${answerOf(last)}` : 'none yet'}
        {nextAttemptAt !== null && (
          <>
            , next <When at={nextAttemptAt} />
          </>
        )}
      </summary>
      <ol className="settings-attempts">
        {attempts.map((attempt) => (
          <li key={attempt.number} value={attempt.number}>
            <At at={attempt.startedAt} />, {duration(attempt.durationSeconds)}: {answerOf(attempt)}
            {attempt.response !== null && attempt.response !== '' && <pre>{attempt.response}</pre>}
          </li>
        ))}
      </ol>
      {isOpen && <Payload id={delivery.id} />}
    </details>
  )
}

function answerOf({ statusCode, error }: UiDeliveryFragment['attempts'][number]): string {
  return error ?? (statusCode === null ? 'no answer' : `status ${statusCode}`)
}

function Payload({ id }: { id: string }) {
  const [{ data }] = useQuery({ query: UiPayloadDocument, variables: { id } })
  if (data?.node?.__typename !== 'WebhookDelivery') return null
  return (
    <>
      <p className="settings-aside">message {data.node.messageId}</p>
      <pre>{JSON.stringify(JSON.parse(data.node.payload), null, 2)}</pre>
    </>
  )
}
