import type { SessionAction } from '../../../domain/session/session-action.ts'
import { builder } from '../../builder.ts'

export const SessionStatusEnum = builder.enumType('SessionStatus', {
  description: 'Status of a session. TERMINATED, ERROR and CANCELLED are final.',
  values: {
    PENDING: { description: 'Waits to be placed on agents.' },
    SCHEDULED: { description: 'Agents are chosen, their resources reserved.' },
    PREPARING: { description: 'Agents prepare its kernels.' },
    PULLING: { description: 'An agent fetches the image.' },
    PREPARED: { description: 'All kernels are ready to be created.' },
    CREATING: { description: 'Agents start its kernels.' },
    RUNNING: { description: 'User code runs.' },
    TERMINATING: { description: 'Its kernels are being stopped, or have ended.' },
    TERMINATED: { description: 'Ended: it succeeded, or a person terminated it.' },
    ERROR: { description: 'Ended: it failed.' },
    CANCELLED: { description: 'Ended before it started.' },
  } as const,
})

export const SessionResultEnum = builder.enumType('SessionResult', {
  description: 'Result of a session.',
  values: {
    UNDEFINED: { description: 'Not known: it has not ended, or a person terminated it.' },
    SUCCESS: { description: 'Its main kernel ended by itself with exit code 0.' },
    FAILURE: { description: 'It failed; `failureCause` says why.' },
  } as const,
})

export const SessionTypeEnum = builder.enumType('SessionType', {
  description: 'What a session is for.',
  values: {
    BATCH: { description: 'Runs a command to its end. The only type that is retried.' },
    INTERACTIVE: { description: 'Serves a person until it is terminated.' },
    INFERENCE: { description: 'One replica of a deployment.' },
  } as const,
})

export const ClusterModeEnum = builder.enumType('ClusterMode', {
  description: 'How the kernels of a session are spread.',
  values: {
    SINGLE_NODE: { description: 'All on one agent.' },
    MULTI_NODE: { description: 'On as many agents as needed.' },
  } as const,
})

export const SessionOriginEnum = builder.enumType('SessionOrigin', {
  description: 'Why a session exists.',
  values: {
    INITIAL: { description: 'A client created it.' },
    AUTO_RETRY: { description: 'A retry policy created it after its parent failed.' },
    RESUBMISSION: { description: 'A person resubmitted its parent.' },
  } as const,
})

export const SessionActionEnum = builder.enumType('SessionAction', {
  description: 'What a person can do with a session.',
  values: {
    RETRY_NOW: { description: '`retryNow`.' },
    CANCEL_RETRY: { description: '`cancelRetry`.' },
    TERMINATE: { description: '`terminateSession`.' },
    RESUBMIT: { description: '`resubmitSessions`, without overrides.' },
  } satisfies Record<SessionAction, object>,
})
