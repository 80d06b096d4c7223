import { builder } from '../../builder.ts'

export const DeploymentStatusEnum = builder.enumType('DeploymentStatus', {
  description: 'Where a deployment stands. DESTROYED is final.',
  values: {
    PENDING: { description: 'Just created.' },
    CREATED: { description: 'As PENDING; no longer written.' },
    DEPLOYING: { description: 'As SCALING; no longer written.' },
    SCALING: {
      description: 'It is being brought to its replicas and its revision; `statusReason` says what it waits for.',
    },
    READY: { description: 'As many healthy routes of its revision as are wanted, and no others.' },
    DESTROYING: { description: 'Its routes are being ended.' },
    DESTROYED: { description: 'Gone.' },
  } as const,
})

export const RouteStatusEnum = builder.enumType('RouteStatus', {
  description: 'Where a route stands. TERMINATED is final.',
  values: {
    PROVISIONING: { description: 'Its session is being started.' },
    DEGRADED: { description: 'Its session runs, but no check of late says how it does.' },
    HEALTHY: { description: 'It answers its checks, and is named by service discovery.' },
    UNHEALTHY: { description: 'It fails its checks; it is replaced if that lasts.' },
    FAILED_TO_START: { description: 'Its session ended, or did not start to serve in time; it is replaced.' },
    TERMINATING: { description: 'Clients are no longer sent to it; its session ends after the drain.' },
    TERMINATED: { description: 'Gone.' },
  } as const,
})
