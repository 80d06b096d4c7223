import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { GuardedButton } from '../../app/guarded-button.tsx'
import { lazyDialog } from '../../app/lazy-part.tsx'
import { useList } from '../../app/list/list-page.tsx'
import { noChange, useViewer } from '../../app/viewer.ts'
import type { Column } from '../../design/table.tsx'
import { Foot, over, Part, Rows, Section, When } from './section.tsx'
import { WebhookState } from './webhook-acts.tsx'
import { type UiWebhookFragment, UiWebhooksDocument } from './webhooks.generated.ts'

const SecretDialog = lazyDialog(() => import('./secret-dialog.tsx'), 'SecretDialog')
const WebhookForm = lazyDialog(() => import('./webhook-form.tsx'), 'WebhookForm')

const EVERY_MS = 5_000
const ROWS = 100
const route = getRouteApi('/frame/settings/webhooks')

/** Endpoints to which events are sent. */
export function WebhooksSection() {
  const { dropped, project } = route.useSearch()
  const refusal = noChange(useViewer())
  const list = useList(UiWebhooksDocument, { first: ROWS, project }, ({ webhooks }) => webhooks, EVERY_MS)
  const [isMaking, setMaking] = useState(false)
  const [secret, setSecret] = useState<string | null>(null)
  return (
    <Section
      says="Endpoints to which events are sent, signed according to Standard Webhooks."
      dropped={dropped}
      acts={
        <GuardedButton kind="primary" refusal={refusal} onClick={() => setMaking(true)}>
          New webhook…
        </GuardedButton>
      }
    >
      <Part read={list}>
        {() => (
          <Rows
            label="Webhooks"
            className="settings-webhooks"
            list={list}
            columns={COLUMNS}
            rows={list.rows}
            rowProps={({ enabled }) => over(!enabled)}
            empty={
              <>
                <h2>No webhooks</h2>
                <p>A webhook receives events as they happen, like a chain that failed for good.</p>
              </>
            }
          />
        )}
      </Part>
      <Foot list={list} />
      <>
        {isMaking && (
          <WebhookForm
            changed={undefined}
            project={project}
            onClose={() => setMaking(false)}
            onDone={(made) => {
              setMaking(false)
              setSecret(made)
              list.again()
            }}
          />
        )}
        {secret !== null && (
          <SecretDialog
            title="The secret of the webhook"
            says="The endpoint checks the signature of requests with it."
            secret={secret}
            onClose={() => setSecret(null)}
          />
        )}
      </>
    </Section>
  )
}

const COLUMNS: readonly Column<UiWebhookFragment>[] = [
  {
    title: 'Endpoint',
    value: ({ url }) => url,
    cell: ({ webhookId, url, description }) => (
      <>
        <Link to="/settings/webhooks/$webhookId" params={{ webhookId }} className="settings-main settings-link">
          {url}
        </Link>
        {description !== '' && <span className="settings-aside">{description}</span>}
      </>
    ),
  },
  {
    title: 'Events',
    cell: ({ eventTypes, labels, chainId }) => (
      <>
        {eventTypes.join(', ')}
        {(labels.length > 0 || chainId !== null) && (
          <span className="settings-aside">
            {[...labels.map(({ key, value }) => `${key}=${value}`), ...(chainId === null ? [] : ['of one chain'])].join(
              ', ',
            )}
          </span>
        )}
      </>
    ),
  },
  {
    title: 'Project',
    isNamed: true,
    value: ({ project }) => project?.name ?? null,
    cell: ({ project }) => project?.name ?? 'all projects',
  },
  { title: 'State', cell: (webhook) => <WebhookState webhook={webhook} /> },
  {
    title: 'Delivered',
    isNamed: true,
    value: ({ lastDeliveredAt }) => lastDeliveredAt,
    isDown: true,
    cell: ({ lastDeliveredAt }) => (lastDeliveredAt === null ? 'never' : <When at={lastDeliveredAt} />),
  },
]
