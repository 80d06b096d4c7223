import { getRouteApi, Link } from '@tanstack/react-router'
import { globalId } from '../../../api/global-id.ts'
import { usePolled } from '../../../api/poll.ts'
import { Tabs } from '../../../app/list/tabs.tsx'
import { Foot } from '../rows.tsx'
import { Part, Section } from '../section.tsx'
import { DELIVERIES, type DeliveryWord } from '../settings-search.ts'
import { usePlace } from '../../../app/list/place.ts'
import { Deliveries } from './deliveries.tsx'
import { WebhookActs } from './webhook-acts.tsx'
import { WebhookState } from './webhook-state.tsx'
import { UiWebhookPageDocument, type UiWebhookPageQuery } from '../webhooks.generated.ts'

const EVERY_MS = 3_000
const ROWS = 50
const route = getRouteApi('/frame/settings/webhooks/$webhookId')

/** A webhook, and what was sent to it. */
export function WebhookSection() {
  const { webhookId } = route.useParams()
  const { dropped, status } = route.useSearch()
  const place = usePlace(status ?? '')
  const read = usePolled(
    UiWebhookPageDocument,
    {
      id: globalId('Webhook', webhookId),
      webhookId,
      status: status === undefined ? undefined : [DELIVERIES[status]],
      first: ROWS,
      after: place.after,
    },
    EVERY_MS,
  )
  const webhook = read.data?.node?.__typename === 'Webhook' ? read.data.node : undefined
  if (read.data && !webhook)
    return (
      <div className="empty">
        <h2>There is no such webhook</h2>
        <p>It was deleted, or is not for your token.</p>
        <Link to="/settings/webhooks" className="button">
          All webhooks
        </Link>
      </div>
    )
  return (
    <Section
      says={webhook?.description || 'What was sent to this endpoint in the last 14 days.'}
      dropped={dropped}
      acts={webhook && <WebhookActs webhook={webhook} again={read.again} />}
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
      <StatusTabs data={read.data} status={status} />
      <Part read={read}>
        {({ webhookDeliveries }) => (
          <Deliveries
            deliveries={webhookDeliveries.edges.map(({ node }) => node)}
            isNarrowed={status !== undefined}
            again={read.again}
          />
        )}
      </Part>
      <Foot first={place.first} next={place.onward(read.data?.webhookDeliveries)}>
        <Link to="/settings/webhooks">All webhooks</Link>
      </Foot>
    </Section>
  )
}

function StatusTabs({ data, status }: { data: UiWebhookPageQuery | undefined; status: DeliveryWord | undefined }) {
  const navigate = route.useNavigate()
  const countOf = (word: DeliveryWord) =>
    data && { count: data[word].totalCount, isExact: data[word].totalCountIsExact }
  return (
    <Tabs<DeliveryWord>
      label="Deliveries"
      tabs={[
        { tab: undefined, name: 'All', counted: null },
        { tab: 'pending', name: 'Waiting', counted: countOf('pending') },
        { tab: 'failed', name: 'Failed', counted: countOf('failed') },
        { tab: 'delivered', name: 'Delivered', counted: countOf('delivered') },
      ]}
      chosen={status}
      onChoose={(chosen) =>
        void navigate({ search: (before) => ({ ...before, dropped: undefined, status: chosen }), replace: true })
      }
    />
  )
}
