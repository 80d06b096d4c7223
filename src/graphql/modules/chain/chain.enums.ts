import { builder } from '../../builder.ts'

export const ChainStateEnum = builder.enumType('ChainState', {
  description: 'What became of a chain. The last three are final, unless a person submits it again.',
  values: {
    LIVE: { description: 'Its newest attempt is under way, or over and not yet judged.' },
    WAITING_RETRY: { description: 'Its newest attempt failed; a retry waits out its delay.' },
    HELD: { description: 'Its newest attempt failed; a retry is due, but something keeps it.' },
    SUCCEEDED: { description: 'Its newest attempt succeeded.' },
    FAILED: { description: 'Its newest attempt failed, and no retry follows.' },
    CANCELLED: { description: 'A person ended its newest attempt before it came to a result.' },
  } as const,
})

export const ChainOrderFieldEnum = builder.enumType('ChainOrderField', {
  description: 'By what chains can be ordered.',
  values: {
    ACTIVITY: { description: 'When an attempt was last created or judged, or its retry changed.' },
    ATTEMPTS: { description: 'How many attempts it has.' },
    TOTAL_TIME: {
      description:
        'How long it took from its creation to its end; what goes on counts up to when the first page was read.',
    },
  } as const,
})
