/** How failures look wherever they are shown: the name of a colour, a letter beside it, and words. */
export interface CauseLook {
  tone: 'exit' | 'memory' | 'agent' | 'image' | 'scheduler' | 'unknown'
  letter: string
  words: string
}

const LOOKS: Readonly<Record<string, CauseLook>> = {
  KERNEL_NONZERO_EXIT: { tone: 'exit', letter: '!', words: 'exit code' },
  OOM_KILLED: { tone: 'memory', letter: 'M', words: 'out of memory' },
  AGENT_TRANSIENT: { tone: 'agent', letter: 'A', words: 'agent lost' },
  IMAGE_PULL_FAILURE: { tone: 'image', letter: 'I', words: 'image not pulled' },
  SCHEDULER_TIMEOUT: { tone: 'scheduler', letter: 'T', words: 'scheduler timeout' },
  UNKNOWN: { tone: 'unknown', letter: '?', words: 'unknown cause' },
  USER_CANCELLED: { tone: 'unknown', letter: '■', words: 'terminated' },
  VALIDATION_ERROR: { tone: 'unknown', letter: '?', words: 'invalid' },
  QUOTA_EXCEEDED: { tone: 'unknown', letter: '?', words: 'over quota' },
}

/**
 * Without a cause, of what is never retried or not yet decided on, as a program that exits looks if its `exitCode` is
 * known.
 */
export function lookOfCause(cause: string | null, exitCode: number | null = null): CauseLook {
  const known = cause ?? (isFailure(exitCode) ? 'KERNEL_NONZERO_EXIT' : 'UNKNOWN')
  return LOOKS[known] ?? LOOKS['UNKNOWN']!
}

/** `exit code 3`, `out of memory`. */
export function causeInWords(cause: string | null, exitCode: number | null): string {
  const { tone, words } = lookOfCause(cause, exitCode)
  return tone === 'exit' && exitCode !== null ? `exit code ${exitCode}` : words
}

function isFailure(exitCode: number | null): boolean {
  return exitCode !== null && exitCode !== 0
}
