import type { SessionAction } from '../../client/schema-types.generated.ts'

interface ActionWords {
  /** What it is called: `Resubmission`. */
  noun: string
  /** On a button. */
  act: string
  /** `resubmitted`, `being resubmitted`. */
  done: string
  /** The right that it takes, as the server names them. */
  right: 'resubmit' | 'manageRetries' | 'terminate'
  /** What follows for each chain. */
  follows: string
  isDestructive: boolean
}

export const ACTION_WORDS: Readonly<Record<SessionAction, ActionWords>> = {
  RESUBMIT: {
    noun: 'Resubmission',
    act: 'Resubmit',
    done: 'resubmitted',
    right: 'resubmit',
    follows: 'Each begins a new epoch, with its whole budget of retries.',
    isDestructive: false,
  },
  RETRY_NOW: {
    noun: 'Retry now',
    act: 'Retry now',
    done: 'retried now',
    right: 'manageRetries',
    follows: 'Their retries are due at once, instead of when they were planned.',
    isDestructive: false,
  },
  CANCEL_RETRY: {
    noun: 'Cancellation of retries',
    act: 'Cancel retry',
    done: 'not retried any more',
    right: 'manageRetries',
    follows: 'They end with the attempt that they have, and no retry follows.',
    isDestructive: true,
  },
  TERMINATE: {
    noun: 'Termination',
    act: 'Terminate',
    done: 'terminated',
    right: 'terminate',
    follows: 'What runs is stopped, retries that are waited for are given up, and none follows.',
    isDestructive: true,
  },
}

export const ACTIONS = Object.keys(ACTION_WORDS) as SessionAction[]

/** Of many; the server's sentence is about one session. */
const REASONS: Readonly<Record<string, string>> = {
  SESSION_NOT_BATCH: 'not a batch session',
  SESSION_NOT_FINISHED: 'has not ended',
  SESSION_SUCCEEDED: 'succeeded',
  SESSION_HAS_CHILD: 'was retried or resubmitted already',
  SESSION_MAY_BE_ALIVE: 'may still run on a silent agent',
  SESSION_NOT_FOUND: 'does not exist, or is of another project',
  SESSION_ALREADY_FINISHED: 'has ended',
  SESSION_NAMED_TWICE: 'was named twice',
  NO_PENDING_RETRY: 'waits for no retry',
  QUOTA_EXCEEDED: 'over a limit on pending sessions',
  CREATION_ID_REUSED: 'its creation id is taken',
  RESOURCE_GROUP_NOT_FOUND: 'its resource group is gone',
  CHAIN_UNREADABLE: 'cannot be read',
}

/** `succeeded`, `waits for no retry`; what has no words of its own has its code. */
export function reasonInWords(code: string): string {
  return REASONS[code] ?? code.toLowerCase().replaceAll('_', ' ')
}
