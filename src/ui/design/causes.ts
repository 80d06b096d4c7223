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

export function lookOfCause(cause: string | null): CauseLook {
  return (cause !== null ? LOOKS[cause] : undefined) ?? LOOKS['UNKNOWN']!
}

/** `exit code 3`, `out of memory`. */
export function causeInWords(cause: string | null, exitCode: number | null): string {
  if (cause === 'KERNEL_NONZERO_EXIT' && exitCode !== null) return `exit code ${exitCode}`
  return lookOfCause(cause).words
}
