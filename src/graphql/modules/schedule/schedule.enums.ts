import { builder } from '../../builder.ts'

export const ScheduleOverlapEnum = builder.enumType('ScheduleOverlap', {
  description: 'What happens to a run that is due while a chain of its schedule goes on.',
  values: {
    SKIP: { description: 'It is not made.' },
    QUEUE: { description: 'It waits until that has ended; at most 100 wait.' },
    CANCEL_OTHER: { description: 'What goes on is ended, and then the run starts.' },
  } as const,
})

export const ScheduleRunOutcomeEnum = builder.enumType('ScheduleRunOutcome', {
  description: 'What became of a run.',
  values: {
    STARTED: { description: 'It made a chain.' },
    QUEUED: { description: 'It waits for an earlier one to end.' },
    SKIPPED: { description: 'It was not made, because of another run: `reason` says why.' },
    MISSED: { description: 'No server could make it in time, and `catchUp` does not reach it.' },
    REFUSED: { description: 'Its session was refused, as `createSession` would have: `code` and `reason` say why.' },
  } as const,
})
