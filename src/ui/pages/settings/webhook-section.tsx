import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useQuery } from 'urql'
import { globalId } from '../../api/connection.ts'
import { useAct } from '../../app/act.ts'
import { GuardedButton } from '../../app/guarded-button.tsx'
import { Tabs } from '../../app/list/list-filters.tsx'
import { useChangeSearch, useList } from '../../app/list/list-page.tsx'
import { DELIVERIES } from '../../app/list/search.ts'
import { noChange, useViewer } from '../../app/viewer.ts'
import { FailedIcon, SucceededIcon, WaitingIcon } from '../../design/icons.tsx'
import { duration } from '../../words/time.ts'
import type { Column } from '../../design/table.tsx'
import { At, Foot, Part, Rows, Section, When } from './section.tsx'
import { WebhookActs, WebhookState } from './webhook-acts.tsx'
import {
  type UiDeliveryFragment,
  UiPayloadDocument,
  UiReplayDeliveryDocument,
  UiWebhookPageDocument,
  type UiWebhookPageQuery,
} from './webhooks.generated.ts'

const EVERY_MS = 3_000
const ROWS = 50
const route = getRouteApi('/frame/settings/webhooks/$webhookId')

/** A webhook and its deliveries. */
export function WebhookSection() {
  const { webhookId } = route.useParams()
  const { dropped, status } = route.useSearch()
  const variables = {
    id: globalId('Webhook', webhookId),
    webhookId,
    status: status === undefined ? undefined : [DELIVERIES[status]],
    first: ROWS,
  }
  const list = useList(UiWebhookPageDocument, variables, ({ webhookDeliveries }) => webhookDeliveries, EVERY_MS)
  const { data, again } = list
  const webhook = data?.node?.__typename === 'Webhook' ? data.node : undefined
  if (data && !webhook)
    return (
      <div className="empty">
        <h2>There is no such webhook</h2>
        <p>It was deleted, or your token may not see it.</p>
        <Link to="/settings/webhooks" className="button">
          All webhooks
        </Link>
      </div>
    )
  return (
    <Section
      says={webhook?.description || 'What was sent to this endpoint in the last 14 days.'}
      dropped={dropped}
      acts={webhook && <WebhookActs webhook={webhook} again={again} />}
    >
      {webhook && (
        <div className="settings-webhook">
          <h2>{webhook.url}</h2>
          <p>
            <WebhookState webhook={webhook} />
          </p>
          <p>
            {webhook.eventTypes.join(', ')} of {webhook.project?.name ?? 'all projects'}
            {webhook.labels.map(({ key, value }) => `, ${key}=${value}`)}
          </p>
        </div>
      )}
      <StatusTabs data={data} status={status} />
      <Part read={list}>
        {() => <Deliveries deliveries={list.rows} isNarrowed={status !== undefined} again={again} />}
      </Part>
      <Foot list={list}>
        <Link to="/settings/webhooks">All webhooks</Link>
      </Foot>
    </Section>
  )
}

function StatusTabs({
  data,
  status,
}: {
  data: UiWebhookPageQuery | undefined
  status: keyof typeof DELIVERIES | undefined
}) {
  const change = useChangeSearch<'webhook'>()
  return (
    <Tabs<keyof typeof DELIVERIES>
      label="Deliveries"
      tabs={[
        { tab: undefined, name: 'All', counted: null },
        { tab: 'pending', name: 'Waiting', counted: data?.pending },
        { tab: 'failed', name: 'Failed', counted: data?.failed },
        { tab: 'delivered', name: 'Delivered', counted: data?.delivered },
      ]}
      chosen={status}
      onChoose={(chosen) => change({ status: chosen })}
    />
  )
}

interface Props {
  deliveries: readonly UiDeliveryFragment[]
  isNarrowed: boolean
  again: () => void
}

/** The deliveries with their answers, and those that are pending. */
function Deliveries({ deliveries, isNarrowed, again }: Props) {
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

/** Shows the outcome of the last attempt. When the user opens it, shows all attempts and the payload. */
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
      <pre>{JSON.stringify(data.node.body, null, 2)}</pre>
    </>
  )
}
