import { builder } from '../../builder.ts'

export const SessionStatusEnum = builder.enumType('SessionStatus', {
  description: 'Where a session stands. TERMINATED, ERROR and CANCELLED are final.',
  values: {
    PENDING: { description: 'Waits to be given to agents.' },
    SCHEDULED: { description: 'Agents are chosen, their resources reserved.' },
    PREPARING: { description: 'Agents prepare its kernels.' },
    PULLING: { description: 'An agent fetches the image.' },
    PREPARED: { description: 'All kernels are ready to be created.' },
    CREATING: { description: 'Agents start its kernels.' },
    RUNNING: { description: 'User code runs.' },
    TERMINATING: { description: 'Its kernels are being stopped, or are over.' },
    TERMINATED: { description: 'Over: it succeeded, or a person ended it.' },
    ERROR: { description: 'Over: it failed.' },
    CANCELLED: { description: 'Over before it started.' },
  } as const,
})

export const SessionResultEnum = builder.enumType('SessionResult', {
  description: 'How a session came out.',
  values: {
    UNDEFINED: { description: 'Not known: it is not over, or a person ended it.' },
    SUCCESS: { description: 'Its main kernel ended with exit code 0.' },
    FAILURE: { description: 'It failed; `failureCause` says why.' },
  } as const,
})

export const SessionTypeEnum = builder.enumType('SessionType', {
  description: 'What a session is for.',
  values: {
    BATCH: { description: 'Runs a command to its end. The only type that is retried.' },
    INTERACTIVE: { description: 'Serves a person until ended.' },
    INFERENCE: { description: 'One replica of a deployment.' },
  } as const,
})

export const ClusterModeEnum = builder.enumType('ClusterMode', {
  description: 'How the kernels of a session are spread.',
  values: {
    SINGLE_NODE: { description: 'All on one agent.' },
    MULTI_NODE: { description: 'On as many agents as it takes.' },
  } as const,
})

export const SessionOriginEnum = builder.enumType('SessionOrigin', {
  description: 'Why a session exists.',
  values: {
    INITIAL: { description: 'A client created it.' },
    AUTO_RETRY: { description: 'A retry policy created it after its parent failed.' },
    RESUBMISSION: { description: 'A person submitted its parent again.' },
  } as const,
})
