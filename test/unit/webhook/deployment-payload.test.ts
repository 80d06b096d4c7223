import { expect, test } from 'vitest'
import type { DeploymentEventData, DeploymentEventType } from '../../../src/domain/events.ts'
import { payloadOf } from '../../../src/domain/webhook.ts'

const MOVED = { from: 'READY', to: 'SCALING' }
const CASES: [type: DeploymentEventType, event: DeploymentEventData[DeploymentEventType], fields: object][] = [
  ['deployment.created', { replicas: 3, revision: 1 }, { replicas: 3, revision: 1 }],
  ['deployment.scaled', { from: 3, to: 0 }, { previous_replicas: 3, replicas: 0 }],
  ['deployment.updated', { from: 1, to: 2 }, { previous_revision: 1, revision: 2 }],
  ['deployment.status_changed', MOVED, { previous_status: 'READY', status: 'SCALING', reason: null }],
  ['deployment.destroyed', { reason: 'enough' }, { reason: 'enough' }],
  [
    'route.status_changed',
    { from: null, to: 'PROVISIONING', sessionId: 's', revision: 2 },
    {
      route_id: 'r',
      session_id: 's',
      revision: 2,
      previous_status: null,
      status: 'PROVISIONING',
      reason: null,
      host: null,
      port: null,
    },
  ],
]

test.each(CASES)('%s', (type, event, fields) => {
  const occurredAt = new Date('2026-11-21T12:00:00Z')
  const deployment = { id: 'd', routeId: type === 'route.status_changed' ? 'r' : null, name: 'web', project: 'default' }
  const delivered = { webhookId: 'w', type, occurredAt, sessionId: null, chainId: null, facts: { event, deployment } }
  expect(JSON.parse(payloadOf(delivered))).toEqual({
    type,
    timestamp: '2026-11-21T12:00:00.000Z',
    data: { deployment_id: 'd', deployment_name: 'web', project: 'default', ...fields },
  })
})
