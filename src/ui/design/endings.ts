import { causeInWords, lookOfCause, type CauseLook } from './causes.ts'

/** How an attempt ended, as a colour and a mark: never as a colour alone. */
export type Tone = CauseLook['tone'] | 'succeeded' | 'running' | 'terminated'

export interface Ending {
  outcome: 'LIVE' | 'SUCCEEDED' | 'FAILED' | 'TERMINATED'
  cause: string | null
  exitCode: number | null
}

export function toneOf({ outcome, cause, exitCode }: Ending): Tone {
  if (outcome === 'LIVE') return 'running'
  if (outcome === 'SUCCEEDED') return 'succeeded'
  return outcome === 'TERMINATED' ? 'terminated' : lookOfCause(cause, exitCode).tone
}

/** A letter or the exit code; null where an icon says it. */
export function letterOf({ outcome, cause, exitCode }: Ending): string | null {
  if (outcome !== 'FAILED') return null
  const { tone, letter } = lookOfCause(cause, exitCode)
  return tone === 'exit' && exitCode !== null ? String(exitCode) : letter
}

/** `running`, `succeeded`, `exit code 3`. */
export function endingWords({ outcome, cause, exitCode }: Ending): string {
  if (outcome === 'LIVE') return 'running'
  if (outcome === 'SUCCEEDED') return 'succeeded'
  return outcome === 'TERMINATED' ? 'terminated' : causeInWords(cause, exitCode)
}
