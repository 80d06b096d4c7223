import type { ErrorCode } from '../errors.ts'
import { isTerminal, type SessionResult, type SessionStatus, type SessionType } from '../session/statuses.ts'

/** A session named for resubmission, read while nobody else can decide about it. */
export interface ResubmissionTarget {
  id: string
  sessionType: SessionType
  status: SessionStatus
  result: SessionResult
  /** False if it had not ended when the locks were taken. */
  locked: boolean
  childSessionId: string | null
  /** Milliseconds until every kernel is certain to be gone; 0 if all are. */
  parentAliveMs: number
}

export interface TargetRefusal {
  code: ErrorCode
  message: string
}

/**
 * Why a session cannot be resubmitted; null if it can. Only finished tails of chains can, and those that succeeded only
 * on request.
 */
export function refuseTarget(target: ResubmissionTarget, includeSucceeded: boolean): TargetRefusal | null {
  const { id, sessionType, status, result, childSessionId, parentAliveMs } = target
  if (sessionType !== 'BATCH') return refusal('SESSION_NOT_BATCH', `session ${id} is ${sessionType}, not BATCH`)
  if (!isTerminal(status)) return refusal('SESSION_NOT_FINISHED', `session ${id} is ${status}`)
  if (!target.locked) return refusal('SESSION_NOT_FINISHED', `session ${id} ended at this moment`)
  if (result === 'SUCCESS' && !includeSucceeded) {
    return refusal('SESSION_SUCCEEDED', `session ${id} succeeded; includeSucceeded would run it again`)
  }
  if (childSessionId !== null) return hasChild(id, childSessionId)
  if (parentAliveMs > 0) {
    const seconds = Math.ceil(parentAliveMs / 1000)
    return refusal('SESSION_MAY_BE_ALIVE', `session ${id} may still run on a silent agent for ${seconds} s`)
  }
  return null
}

export function notFound(id: string): TargetRefusal {
  return refusal('SESSION_NOT_FOUND', `no session ${id}`)
}

export function hasChild(id: string, childId: string): TargetRefusal {
  return refusal('SESSION_HAS_CHILD', `session ${id} was retried or resubmitted as ${childId}`)
}

export function dependencyFailed(id: string, failedId: string): TargetRefusal {
  return refusal('DEPENDENCY_FAILED', `session ${id} depends on session ${failedId}, whose chain has failed`)
}

export function creationIdReused(creationId: string): TargetRefusal {
  return refusal('CREATION_ID_REUSED', `another session has the creation id ${creationId}`)
}

function refusal(code: ErrorCode, message: string): TargetRefusal {
  return { code, message }
}
