import { builder } from '../../builder.ts'

export const ChainStateEnum = builder.enumType('ChainState', {
  description: 'State of a chain. The last three are final unless it is resubmitted.',
  values: {
    LIVE: { description: 'Its newest attempt is in progress, or has ended and is not yet decided about.' },
    WAITING_RETRY: { description: 'Its newest attempt failed; a retry is waiting for its delay to pass.' },
    HELD: { description: 'Its newest attempt failed; a retry is due but held.' },
    SUCCEEDED: { description: 'Its newest attempt succeeded.' },
    FAILED: { description: 'Its newest attempt failed, and no retry follows.' },
    CANCELLED: { description: 'A person terminated its newest attempt before it produced a result.' },
  } as const,
})

export const ChainOrderFieldEnum = builder.enumType('ChainOrderField', {
  description: 'By what chains can be ordered.',
  values: {
    ACTIVITY: { description: 'When an attempt was last created or judged, or its retry changed.' },
    ATTEMPTS: { description: 'How many attempts it has.' },
    TOTAL_TIME: {
      description: 'Time from its creation to its end; a live chain counts up to when the first page was read.',
    },
    NAME: { description: 'Its name, as the database sorts texts.' },
    CREATED_AT: { description: 'When its first attempt was created.' },
    DUE_AT: {
      description: 'When its retry is due. Only chains that wait for a retry, or whose retry is held, are listed.',
    },
  } as const,
})

export const ChainSegmentKindEnum = builder.enumType('ChainSegmentKind', {
  description: 'What a chain spent a part of its time with.',
  values: {
    QUEUED: { description: 'An attempt waited to be placed on an agent.' },
    PREPARING: { description: 'Its kernels were being prepared and started.' },
    RUNNING: { description: 'Its program ran.' },
    ENDING: { description: 'Its kernels were being stopped.' },
    BACKOFF: { description: 'Between a failed attempt and its retry, or until that was given up.' },
    HELD: { description: 'A retry that was due was held: see `holdReason`.' },
    RESUBMISSION_GAP: { description: 'The chain had ended; a person resubmitted it.' },
    PLANNED: { description: 'The retry to come. It is no part of the time so far.' },
  } as const,
})
