import type { FailureCause } from '../session/causes.ts'
import { resubmissionCreationId } from '../session/creation-id.ts'

export interface ResubmittedParent {
  id: string
  chainId: string
  /** The creation id of the chain's first session; null if that session is gone. */
  chainCreationId: string | null
  attempt: number
  epoch: number
}

/**
 * The fields of a resubmission's child that do not come from its parent: the budget starts again, the history
 * continues. `epochStartedAt` null means now.
 * @throws if a counter or the chain's name is missing or unreadable; it is never assumed to be 0
 */
export function deriveResubmission(parent: ResubmittedParent, cause: FailureCause | null) {
  const { chainCreationId, attempt, epoch } = parent
  if (chainCreationId === null) throw new Error(`the first session of chain ${parent.chainId} is missing`)
  if (!Number.isSafeInteger(attempt) || attempt < 1) throw new Error(`its attempt is ${attempt}`)
  if (!Number.isSafeInteger(epoch) || epoch < 0) throw new Error(`its epoch is ${epoch}`)
  return {
    parentSessionId: parent.id,
    chainId: parent.chainId,
    creationId: resubmissionCreationId(chainCreationId, epoch + 1),
    attempt: attempt + 1,
    retryCount: 0,
    uncountedRetries: 0,
    epoch: epoch + 1,
    epochStartedAt: null,
    origin: 'RESUBMISSION' as const,
    retryCause: cause,
  }
}
