import { REASON_LENGTH_MAX, RETRY_DELAY_CEILING_MS } from '../limits.ts'
import { toStorableText } from '../storable-text.ts'

/** A program's request: no retry, a retry, or a retry that uses up no budget. */
export const VERDICT_RETRIES = ['no', 'yes', 'uncounted'] as const
export type VerdictRetry = (typeof VERDICT_RETRIES)[number]

/** The verdict of a program on its own failure, from the file named by REPRISE_VERDICT_FILE. */
export interface ProgramVerdict {
  /** Text for people and for rules; null if the program gives none. */
  reason: string | null
  retry: VerdictRetry | null
  /** The requested delay. */
  delaySeconds: number | null
  /** Groups its failure with others of the same text, instead of by what its log says. Missing if it gives none. */
  fingerprint?: string
  /** Why the file cannot be used; the other fields are then null. */
  fault: string | null
}

const FIELDS: readonly string[] = ['reason', 'retry', 'delaySeconds', 'fingerprint']
const FINGERPRINT_LENGTH_MAX = 200

/** Parses the file's content. Total: `fault` describes content that cannot be used. Fields may be missing or null. */
export function parseProgramVerdict(text: string): ProgramVerdict {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return faulty('it is not JSON')
  }
  return judge(value)
}

/** Reads a stored or received verdict; null if there is none that can be read. */
export function readProgramVerdict(value: unknown): ProgramVerdict | null {
  if (typeof value !== 'object' || value === null) return null
  const { fault = null, ...said } = value as Record<string, unknown>
  return typeof fault === 'string' ? faulty(fault) : judge(said)
}

export function faulty(fault: string): ProgramVerdict {
  return { reason: null, retry: null, delaySeconds: null, fault: cut(fault) }
}

function judge(value: unknown): ProgramVerdict {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return faulty('it is not a JSON object')
  const unknown = Object.keys(value).find((name) => !FIELDS.includes(name))
  if (unknown !== undefined) return faulty(`it has an unknown field ${JSON.stringify(unknown)}`)
  const { reason = null, retry = null, delaySeconds = null, fingerprint = null } = value as Record<string, unknown>
  if (reason !== null && typeof reason !== 'string') return faulty('"reason" is not text')
  if (retry !== null && !VERDICT_RETRIES.includes(retry as VerdictRetry)) {
    return faulty(`"retry" is not one of ${VERDICT_RETRIES.map((word) => `"${word}"`).join(', ')}`)
  }
  if (delaySeconds !== null && !(typeof delaySeconds === 'number' && delaySeconds >= 0)) {
    return faulty('"delaySeconds" is not a number of at least 0')
  }
  if (fingerprint !== null && typeof fingerprint !== 'string') return faulty('"fingerprint" is not text')
  const own = fingerprint === null ? '' : toStorableText(fingerprint.trim().slice(0, FINGERPRINT_LENGTH_MAX))
  return {
    reason: reason === null || reason.trim() === '' ? null : cut(reason.trim()),
    retry: retry as VerdictRetry | null,
    delaySeconds: delaySeconds === null ? null : Math.min(delaySeconds, RETRY_DELAY_CEILING_MS / 1000),
    fault: null,
    // Servers of the previous version refuse a field that they do not know.
    ...(own !== '' && { fingerprint: own }),
  }
}

function cut(text: string): string {
  return toStorableText(text.slice(0, REASON_LENGTH_MAX))
}
