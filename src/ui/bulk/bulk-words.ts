import type { SessionAction } from '../../client/schema-types.generated.ts'
import { amountWords, counted } from '../words/numbers.ts'

interface ActionWords {
  /** The name of the action: `Resubmission`. */
  noun: string
  /** The text of its button. */
  act: string
  /** The outcome for one session: `resubmitted`, `being resubmitted`. */
  done: string
  /** The permission that it needs, by the server's name. */
  right: 'resubmit' | 'manageRetries' | 'terminate'
  /** The consequence for each chain. */
  follows: string
  isDestructive: boolean
}

export const ACTION_WORDS: Readonly<Record<SessionAction, ActionWords>> = {
  RESUBMIT: {
    noun: 'Resubmission',
    act: 'Resubmit',
    done: 'resubmitted',
    right: 'resubmit',
    follows: 'Each begins a new epoch with a full budget of retries.',
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
    follows: 'They end with their present attempt, and no retry follows.',
    isDestructive: true,
  },
  TERMINATE: {
    noun: 'Termination',
    act: 'Terminate',
    done: 'terminated',
    right: 'terminate',
    follows: 'Running attempts are stopped, waiting retries are cancelled, and none follows.',
    isDestructive: true,
  },
}

/** `Termination of 12 chains` */
export function titleOf({ action, total }: { action: SessionAction; total: number }): string {
  return `${ACTION_WORDS[action].noun} of ${counted(total, 'chain')}`
}

export const ACTIONS = Object.keys(ACTION_WORDS) as SessionAction[]

/** The reasons for many sessions; the server's message is about one. */
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

/** `succeeded`, `waits for no retry`; the code itself where there are no words for it. */
export function reasonInWords(code: string): string {
  return REASONS[code] ?? code.toLowerCase().replaceAll('_', ' ')
}

/** The changes, or the force and reason of a termination: `priority 7`, `mem 8g`. */
export function overridesInWords(overrides: unknown): string[] {
  const given = Object.entries(overrides as Record<string, unknown>)
  return given.flatMap(([name, value]) => {
    if (Array.isArray(value)) return value.map((each) => pairInWords(name, each))
    if (value !== null && typeof value === 'object') {
      return Object.entries(value).map(([key, each]) => `${key} ${amountWords(key, String(each))}`)
    }
    return value === true ? [name] : [`${name} ${String(value)}`]
  })
}

function pairInWords(list: string, pair: unknown): string {
  if (pair === null || typeof pair !== 'object') return `${list} ${String(pair)}`
  const { name, value } = pair as { name?: string; value?: string }
  return value === undefined ? String(name) : `${name} = ${value}`
}
