import { builder } from '../../builder.ts'

export const DeploymentStatusEnum = builder.enumType('DeploymentStatus', {
  description: 'Status of a deployment. DESTROYED is final.',
  values: {
    PENDING: { description: 'Just created.' },
    CREATED: { description: 'As PENDING; no longer written.' },
    DEPLOYING: { description: 'As SCALING; no longer written.' },
    SCALING: {
      description: 'It is moving to its number of replicas and its revision; `statusReason` says what it waits for.',
    },
    READY: { description: 'It has the desired number of healthy routes of its revision, and no others.' },
    DESTROYING: { description: 'Its routes are being terminated.' },
    DESTROYED: { description: 'Gone.' },
  } as const,
})

export const RouteStatusEnum = builder.enumType('RouteStatus', {
  description: 'Status of a route. TERMINATED is final.',
  values: {
    PROVISIONING: { description: 'Its session is being started.' },
    DEGRADED: { description: 'Its session runs, but there is no recent check result.' },
    HEALTHY: { description: 'It passes its checks and is listed by service discovery.' },
    UNHEALTHY: { description: 'It fails its checks, and is replaced if that lasts.' },
    FAILED_TO_START: { description: 'Its session ended, or did not start to serve in time; it is replaced.' },
    TERMINATING: { description: 'Clients are no longer sent to it; its session ends after the drain.' },
    TERMINATED: { description: 'Gone.' },
  } as const,
})
