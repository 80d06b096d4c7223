import { RepriseError } from '../../domain/errors.ts'
import type { Database } from '../../store/database.ts'
import { readAgentToken } from '../../store/sql/agent/register-agent.sql.ts'
import type { Viewer } from '../service-context.ts'

/** Far more than there are agents: an upper bound, not a working set. */
const REMEMBERED_AGENTS_MAX = 50_000

/**
 * Which token may act for which agent: the one that registered it. Another token can take over only after that one is
 * revoked or has expired. Administrators of the whole cluster may act for any agent.
 */
export interface AgentOwnership {
  /** @throws RepriseError FORBIDDEN */
  assertIsAgent(viewer: Viewer): void
  /** An unknown agent belongs to nobody. @throws RepriseError FORBIDDEN */
  assertOwns(viewer: Viewer, agentId: string): Promise<void>
}

export function createAgentOwnership(db: Database): AgentOwnership {
  // Entries never become wrong: when an agent changes owner, the old token is invalid or its instance is superseded.
  const known = new Map<string, string>()
  return {
    assertIsAgent(viewer) {
      if (viewer.role === 'AGENT' || speaksForAll(viewer)) return
      throw new RepriseError('FORBIDDEN', `The token "${viewer.name}" is not an agent's: it needs the role AGENT.`)
    },
    async assertOwns(viewer, agentId) {
      if (speaksForAll(viewer) || known.get(agentId) === viewer.tokenId) return
      const owner = await readAgentToken(db, agentId)
      if (!owner) return
      if (owner.tokenId !== viewer.tokenId) throw notYours(viewer, agentId)
      assertMayServe(viewer, owner.resourceGroup)
      if (known.size >= REMEMBERED_AGENTS_MAX) known.clear()
      known.set(agentId, viewer.tokenId)
    },
  }
}

/** A token may be bound to resource groups, whose work is all that its agents get. @throws RepriseError FORBIDDEN */
export function assertMayServe(viewer: Viewer | null, resourceGroup: string): void {
  const { resourceGroups = null, name = '' } = viewer ?? {}
  if (resourceGroups === null || resourceGroups.includes(resourceGroup)) return
  const message = `The token "${name}" is for agents of ${resourceGroups.join(', ')}, not of ${resourceGroup}.`
  throw new RepriseError('FORBIDDEN', message)
}

/** The embedded agent has no token: it is the server. An administrator of one project would see all tenants' work. */
export function speaksForAll(viewer: Viewer | null): boolean {
  return viewer === null || (viewer.role === 'ADMIN' && viewer.projectId === null)
}

export function notYours(viewer: Viewer, agentId: string): RepriseError {
  const message = `The agent ${agentId} came with another token than "${viewer.name}", which is still in force.`
  return new RepriseError(
    'FORBIDDEN',
    `${message} Revoke that one first, or give this agent a data directory of its own.`,
  )
}

/** The names of other groups are not for everybody. */
export function storeOfOthers(viewer: Viewer, resourceGroup: string, others: readonly string[]): RepriseError {
  const whose = others.length === 1 ? 'another resource group' : 'other resource groups'
  return new RepriseError(
    'FORBIDDEN',
    `The directory of chains (REPRISE_CHAINS_DIR, --chains-dir) belongs to agents of ${whose}, and the token ` +
      `"${viewer.name}" may not serve them. Register once with a token for those groups and ${resourceGroup}, or give ` +
      'this agent a directory of its own.',
  )
}
