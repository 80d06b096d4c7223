import type { FailureError } from '../session/failure.ts'
import type { RetryRule } from './policy/policy.ts'
import type { RetryVerdict } from './verdict.ts'

export interface FailedSession {
  /** The agents whose kernels failed in this attempt. */
  failedAgents: string[]
  avoidAgents: string[]
  resourceGroup: string
}

const UUID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/

/**
 * What the retry avoids and excludes from now on. An agent that is avoided already and fails once more is avoided again,
 * whatever the rule says: it goes behind the others.
 */
export function failedPlaces(
  session: FailedSession,
  rule: RetryRule | undefined,
  error: FailureError | null,
): Pick<RetryVerdict, 'avoid' | 'exclude'> {
  const named = error?.agentId !== undefined && UUID.test(error.agentId) ? [error.agentId] : []
  const agents = [...new Set([...session.failedAgents, ...named])]
  return {
    avoid: {
      agents: rule?.avoid === 'AGENT' ? agents : agents.filter((id) => session.avoidAgents.includes(id)),
      groups: rule?.avoid === 'RESOURCE_GROUP' ? [session.resourceGroup] : [],
    },
    exclude: { agents: rule?.exclude === 'AGENT' ? agents : [] },
  }
}
