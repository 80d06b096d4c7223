import { RepriseError } from '../../domain/errors.ts'
import type { Prisma } from '../../store/prisma.ts'
import { keysetPage, type Page } from '../paging/keyset.ts'
import { AGENTS_BY_NAME } from '../paging/orders.ts'
import type { PageArguments } from '../paging/page-arguments.ts'
import type { ReadContext } from '../session/read-sessions.ts'

/** Complete agents, for REST; GraphQL reads only what its query selects. Everybody sees them. */

const BESIDE = { slots: { orderBy: { slot: 'asc' } } } as const satisfies Prisma.AgentInclude

export type AgentRecord = Prisma.AgentGetPayload<{ include: typeof BESIDE }>

/** All given conditions must match; null counts as missing. */
export interface AgentFilterInput {
  status?: AgentRecord['status'][] | null | undefined
  resourceGroup?: string | null | undefined
}

export function agentWhere({ status, resourceGroup }: AgentFilterInput): Prisma.AgentWhereInput {
  return { ...(status && { status: { in: status } }), ...(resourceGroup != null && { resourceGroup }) }
}

/** @throws RepriseError AGENT_NOT_FOUND */
export async function readAgent({ prisma }: Pick<ReadContext, 'prisma'>, id: string): Promise<AgentRecord> {
  const agent = await prisma.agent.findUnique({ where: { id }, include: BESIDE })
  if (!agent) throw new RepriseError('AGENT_NOT_FOUND', `no agent ${id}`)
  return agent
}

/** By name. @throws RepriseError VALIDATION_FAILED */
export function readAgents(
  { prisma }: Pick<ReadContext, 'prisma'>,
  { filter, page }: { filter: AgentFilterInput; page: PageArguments },
): Promise<Page<AgentRecord>> {
  const wanted = agentWhere(filter)
  return keysetPage({
    args: page,
    order: AGENTS_BY_NAME,
    find: ({ where, ...rest }) => prisma.agent.findMany({ ...rest, where: { AND: [wanted, where] }, include: BESIDE }),
    count: () => prisma.agent.count({ where: wanted }),
  })
}
