/** The kind of a failure whose cause is KERNEL_NONZERO_EXIT, but which the batch timeout ended. */
export const TIMED_OUT = 'TIMED_OUT'

/** The look of a failure on all pages: the name of a colour, a letter beside it, and words. */
interface CauseLook {
  tone: 'exit' | 'timeout' | 'hung' | 'memory' | 'agent' | 'image' | 'scheduler' | 'unknown'
  letter: string
  words: string
}

const LOOKS: Readonly<Record<string, CauseLook>> = {
  KERNEL_NONZERO_EXIT: { tone: 'exit', letter: '!', words: 'exit code' },
  [TIMED_OUT]: { tone: 'timeout', letter: 'T', words: 'timed out' },
  OOM_KILLED: { tone: 'memory', letter: 'M', words: 'out of memory' },
  AGENT_TRANSIENT: { tone: 'agent', letter: 'A', words: 'agent lost' },
  IMAGE_PULL_FAILURE: { tone: 'image', letter: 'I', words: 'image not pulled' },
  SCHEDULER_TIMEOUT: { tone: 'scheduler', letter: 'S', words: 'scheduler timeout' },
  HUNG: { tone: 'hung', letter: 'H', words: 'hung' },
  UNKNOWN: { tone: 'unknown', letter: '?', words: 'unknown cause' },
  USER_CANCELLED: { tone: 'unknown', letter: '■', words: 'terminated' },
  VALIDATION_ERROR: { tone: 'unknown', letter: '?', words: 'invalid' },
  QUOTA_EXCEEDED: { tone: 'unknown', letter: '?', words: 'over quota' },
}

/** The kind of a session's failure: its cause, or TIMED_OUT. */
export function kindOf<Cause extends string>({
  failureCause,
  timedOut = false,
}: {
  failureCause: Cause | null
  timedOut?: boolean
}): Cause | typeof TIMED_OUT | null {
  return timedOut ? TIMED_OUT : failureCause
}

/**
 * The look of a kind of failure. Without a cause (never retried, or not decided yet) a known `exitCode` gives the look of a
 * failed program.
 */
export function lookOfCause(cause: string | null, exitCode: number | null = null): CauseLook {
  const known = cause ?? (isFailure(exitCode) ? 'KERNEL_NONZERO_EXIT' : 'UNKNOWN')
  return LOOKS[known] ?? LOOKS['UNKNOWN']!
}

/** `exit code 3`, `timed out after 2 s`, `out of memory`. @param timeout the batch timeout in words */
export function causeInWords(cause: string | null, exitCode: number | null, timeout: string | null = null): string {
  const { tone, words } = lookOfCause(cause, exitCode)
  if (tone === 'timeout' && timeout !== null) return `timed out after ${timeout}`
  return tone === 'exit' && exitCode !== null ? `exit code ${exitCode}` : words
}

function isFailure(exitCode: number | null): boolean {
  return exitCode !== null && exitCode !== 0
}

/** The tone of an attempt's end. It always comes with a mark, never as a colour alone. */
export type Tone = CauseLook['tone'] | 'succeeded' | 'running' | 'terminated'

interface Ending {
  outcome: 'LIVE' | 'SUCCEEDED' | 'FAILED' | 'TERMINATED'
  cause: string | null
  exitCode: number | null
  /** The batch timeout in words. */
  timeout?: string | null
}

export function toneOf({ outcome, cause, exitCode }: Ending): Tone {
  if (outcome === 'LIVE') return 'running'
  if (outcome === 'SUCCEEDED') return 'succeeded'
  return outcome === 'TERMINATED' ? 'terminated' : lookOfCause(cause, exitCode).tone
}

/** A letter or the exit code; null where an icon shows it. */
export function letterOf({ outcome, cause, exitCode }: Ending): string | null {
  if (outcome !== 'FAILED') return null
  const { tone, letter } = lookOfCause(cause, exitCode)
  return tone === 'exit' && exitCode !== null ? String(exitCode) : letter
}

/** `running`, `succeeded`, `exit code 3`. */
export function endingWords({ outcome, cause, exitCode, timeout = null }: Ending): string {
  if (outcome === 'LIVE') return 'running'
  if (outcome === 'SUCCEEDED') return 'succeeded'
  return outcome === 'TERMINATED' ? 'terminated' : causeInWords(cause, exitCode, timeout)
}

/** The words for the reasons why retries are held. */
export const HOLDS = {
  DISABLED: 'retries are switched off',
  RATE_LIMITED: 'rate limit',
  QUOTA: 'quota of the project',
  PARENT_ALIVE: 'the attempt before may still run',
  BREAKER: 'many chains fail alike',
} as const
