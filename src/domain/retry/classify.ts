import type { FailureError } from '../session/failure.ts'
import { readProgramVerdict } from '../session/program-verdict.ts'
import { CAUSE_OF_FAILURE, type FailureCause } from '../session/causes.ts'

/** The part of a finished session that its cause depends on. */
export interface FinishedSession {
  status: 'TERMINATED' | 'ERROR' | 'CANCELLED'
  /** The person who ended it, if one did. */
  terminatedBy: string | null
}

export type Classification =
  | { kind: 'cause'; cause: FailureCause; error: FailureError | null }
  /** An internal error: the code that ended the session gave no reason. */
  | { kind: 'malformed'; message: string }

const CAUSE_BY_NAME: ReadonlyMap<string, FailureCause> = new Map(Object.entries(CAUSE_OF_FAILURE))

/** Classifies why a session did not succeed. Total: every input has an answer. */
export function classifyFailure(session: FinishedSession, statusData: unknown): Classification {
  const error = readEnvelope(statusData)
  if (session.terminatedBy !== null) {
    return { kind: 'cause', cause: 'USER_CANCELLED', error: typeof error === 'string' ? null : error }
  }
  if (typeof error === 'string') {
    return { kind: 'malformed', message: `${session.status} without a readable reason: ${error}` }
  }
  return { kind: 'cause', cause: CAUSE_BY_NAME.get(error.name) ?? 'UNKNOWN', error }
}

/** The error in the envelope, or a description of what is wrong with it. */
function readEnvelope(statusData: unknown): FailureError | string {
  if (!isRecord(statusData)) return 'status data is missing'
  const { error } = statusData
  if (!isRecord(error)) return 'status data has no error'
  const { name, message, agentId = null, exitCode = null } = error
  if (typeof name !== 'string' || name === '') return 'the error has no name'
  if (typeof message !== 'string') return 'the error has no message'
  if (agentId !== null && typeof agentId !== 'string') return "the error's agentId is no text"
  if (exitCode !== null && !Number.isInteger(exitCode)) return "the error's exitCode is no integer"
  const verdict = readProgramVerdict(error['verdict'])
  return {
    name,
    message,
    ...(agentId === null ? {} : { agentId }),
    ...(exitCode === null ? {} : { exitCode: exitCode as number }),
    ...(verdict === null ? {} : { verdict }),
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
