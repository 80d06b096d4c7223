import type { Call, Evidence, SessionRow } from './evidence.ts'
import type { Accuse } from './promises.ts'

/** What the tables say of each chain: its children, its end, and whether each session is accounted for. */

const TERMINAL = ['TERMINATED', 'ERROR', 'CANCELLED']
const NEVER_RETRIED = ['USER_CANCELLED', 'VALIDATION_ERROR', 'QUOTA_EXCEEDED']
const FINAL_PHASES = ['NONE', 'SUCCEEDED', 'EXHAUSTED', 'NOT_ELIGIBLE', 'CANCELLED']

export const isTerminal = (status: string) => TERMINAL.includes(status)

export function chainPromises(evidence: Evidence, accuse: Accuse): void {
  const { sessions, calls } = evidence
  const byChain = Map.groupBy(sessions, ({ chainId }) => chainId)
  const children = Map.groupBy(
    sessions.filter(({ parentId }) => parentId !== null),
    ({ parentId }) => parentId!,
  )
  const interferedWith = new Set(calls.flatMap((call) => chainsStopped(call, evidence)))
  for (const [parentId, born] of children) {
    if (born.length > 1)
      accuse('one-child', parentId, `has ${born.length} children: ${born.map(({ id }) => id).join(', ')}`)
  }
  for (const [chainId, chain] of byChain) {
    expectLinks(chainId, chain, accuse)
    for (const session of chain) {
      expectEnd(session, children.get(session.id) ?? [], evidence, accuse)
      expectChild(session, children.get(session.id) ?? [], interferedWith.has(chainId), accuse)
    }
  }
  expectOrigins(evidence, accuse)
}

/** The chains that a client may have stopped, also where it never heard whether it had. */
function chainsStopped({ call, outcome, sessionId }: Call, { sessions }: Evidence): string[] {
  if ((call !== 'terminate' && call !== 'cancelRetry') || outcome === 'refused') return []
  return sessions.flatMap((session) => (session.id === sessionId ? [session.chainId] : []))
}

/** Attempts count from 1, each the child of the one before, which had failed when the child was made. */
function expectLinks(chainId: string, chain: readonly SessionRow[], accuse: Accuse): void {
  const numbers = chain.map(({ attempt }) => attempt)
  if (numbers.some((attempt, index) => attempt !== index + 1)) {
    accuse('one-child', chainId, `has the attempts ${numbers.join(', ')}`)
  }
  if (chain[0]!.id !== chainId) accuse('lost', chainId, 'the first attempt of the chain is gone')
  for (const [index, child] of chain.entries()) {
    const parent = chain[index - 1]
    if (parent === undefined) continue
    if (child.parentId !== parent.id) accuse('one-child', child.id, `is not the child of attempt ${parent.attempt}`)
    if (child.origin !== 'AUTO_RETRY') continue
    if (parent.result !== 'FAILURE') accuse('one-child', child.id, `retries a session that is ${parent.result}`)
    if (parent.terminatedAt === null || parent.terminatedAt > child.createdAt) {
      accuse('one-child', child.id, 'was created before its parent had ended')
    }
    if (child.retryCount > child.maxRetries) {
      accuse('one-child', child.id, `is retry ${child.retryCount} of ${child.maxRetries}`)
    }
  }
}

/** Every attempt has ended and is decided about, and the decision agrees with what is there. */
function expectEnd(session: SessionRow, born: readonly SessionRow[], evidence: Evidence, accuse: Accuse): void {
  const { id, status } = session
  if (!isTerminal(status)) return accuse('lost', id, `is still ${status}`)
  const decision = evidence.decisions.get(id)
  if (decision === undefined) return accuse('lost', id, `is ${status}, and nobody has decided about a retry`)
  const retry = born.find(({ origin }) => origin === 'AUTO_RETRY')
  if (decision.phase === 'DISPATCHED') {
    if (decision.childId === null || !born.some((child) => child.id === decision.childId)) {
      accuse('one-child', id, `its retry is DISPATCHED as ${decision.childId}, which is not its child`)
    }
  } else if (!FINAL_PHASES.includes(decision.phase)) {
    accuse('lost', id, `its retry is still ${decision.phase}`)
  } else if (retry !== undefined) {
    accuse('one-child', id, `its retry is ${decision.phase}, but there is ${retry.id}`)
  }
}

/** A failure with retries left, of a cause that is retried, in a chain that nobody stopped, has a child in the end. */
function expectChild(session: SessionRow, born: readonly SessionRow[], stopped: boolean, accuse: Accuse): void {
  const { id, result, cause, retryCount, maxRetries, status } = session
  if (born.length > 0 || stopped || status === 'TERMINATED' || retryCount >= maxRetries) return
  if (result !== 'FAILURE' || cause === null || NEVER_RETRIED.includes(cause)) {
    if (status === 'CANCELLED' || result === 'FAILURE') {
      accuse('lost', id, `is ${status} for ${cause}, and no client asked for that`)
    }
    return
  }
  accuse('one-child', id, `failed for ${cause} with ${maxRetries - retryCount} retries left, and has no child`)
}

/** Every session is one that a client asked for, or the child of one; and every kernel that ran is one of a session. */
function expectOrigins({ sessions, calls, runs, kernels }: Evidence, accuse: Accuse): void {
  const asked = new Set(calls.flatMap(({ call, creationId }) => (call === 'create' ? [creationId] : [])))
  for (const { id, parentId, creationId } of sessions) {
    if (parentId === null && !asked.has(creationId)) accuse('lost', id, 'no client has asked for it')
  }
  for (const [creationId, same] of Map.groupBy(sessions, (session) => session.creationId)) {
    if (same.length > 1) accuse('one-child', creationId, `is the creation id of ${same.length} sessions`)
  }
  const known = new Map(sessions.map((session) => [session.id, session]))
  const ofKernel = new Map(kernels.map((kernel) => [kernel.id, kernel.sessionId]))
  for (const { sessionId, kernelId, chainId, attempt, file, torn } of runs) {
    const session = known.get(sessionId)
    if (torn > 0) accuse('lost', file, `${torn} lines in the file of a kernel are not its own`)
    if (session === undefined || ofKernel.get(kernelId) !== sessionId) {
      accuse('lost', sessionId, `kernel ${kernelId} ran for it, and neither is in the tables together`)
    } else if (session.chainId !== chainId || session.attempt !== attempt) {
      accuse(
        'lost',
        sessionId,
        `ran as attempt ${attempt} of ${chainId}, and is ${session.attempt} of ${session.chainId}`,
      )
    }
  }
}
