import type { FailureError, KnownFailureName } from '../session/failure.ts'
import { readProgramVerdict } from '../session/program-verdict.ts'
import type { FailureCause } from '../session/causes.ts'

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

const CAUSES = {
  'agent-lost': 'AGENT_TRANSIENT',
  'agent-fenced': 'AGENT_TRANSIENT',
  'kernel-vanished': 'AGENT_TRANSIENT',
  'scheduler-timeout': 'SCHEDULER_TIMEOUT',
  'image-pull-failed': 'IMAGE_PULL_FAILURE',
  'kernel-exited': 'KERNEL_NONZERO_EXIT',
  'task-timeout': 'KERNEL_NONZERO_EXIT',
  'oom-killed': 'OOM_KILLED',
  'executor-failed': 'UNKNOWN',
  'secrets-unreadable': 'UNKNOWN',
  'route-ended': 'UNKNOWN',
  'kernels-missing': 'UNKNOWN',
  'user-cancelled': 'USER_CANCELLED',
  'environment-too-large': 'VALIDATION_ERROR',
  'validation-failed': 'VALIDATION_ERROR',
  'dependency-failed': 'VALIDATION_ERROR',
  'quota-exceeded': 'QUOTA_EXCEEDED',
  'chain-directory-full': 'QUOTA_EXCEEDED',
} as const satisfies Record<KnownFailureName, FailureCause>

const CAUSE_BY_NAME: ReadonlyMap<string, FailureCause> = new Map(Object.entries(CAUSES))

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
