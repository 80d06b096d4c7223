import {
  countWorkOnAgents,
  readKernelsOnAgents as readKernels,
  readSessionsOnAgents as readSessions,
  countGroupAgents as countAgents,
  readGroupAgents as readAgents,
  type AgentWorkRow,
  type GroupAgentRow,
} from '../../store/sql/agent/read-agent-work.sql.ts'
import type { ServiceContext } from '../service-context.ts'

export type { AgentWorkRow, GroupAgentRow }

type Reader = Pick<ServiceContext, 'db' | 'viewer'>

/** Only what is older than `before` (all of it without); newest first. */
interface WorkPage {
  agentIds: readonly string[]
  before: string | null
  limit: number
}

/** Kernels that agents have now: of the sessions that the viewer sees. */
export function readKernelsOnAgents({ db, viewer }: Reader, page: WorkPage): Promise<AgentWorkRow[]> {
  return readKernels(db, { ...page, visibleProjectId: viewer.projectId })
}

/** The sessions of these kernels. */
export function readSessionsOnAgents({ db, viewer }: Reader, page: WorkPage): Promise<AgentWorkRow[]> {
  return readSessions(db, { ...page, visibleProjectId: viewer.projectId })
}

export async function countOnAgents(
  { db, viewer }: Reader,
  what: 'kernels' | 'sessions',
  agentIds: readonly string[],
): Promise<Map<string, number>> {
  const counts = await countWorkOnAgents(db, agentIds, viewer.projectId)
  return new Map([...counts].map(([id, count]) => [id, count[what]]))
}

/** A page of the agents of each group, by name. Everybody sees them. */
export function readGroupAgents(
  { db }: Pick<Reader, 'db'>,
  { groups, after, limit }: { groups: readonly string[]; after: { name: string; id: string } | null; limit: number },
): Promise<GroupAgentRow[]> {
  return readAgents(db, groups, after, limit)
}

export function countGroupAgents({ db }: Pick<Reader, 'db'>, groups: readonly string[]): Promise<Map<string, number>> {
  return countAgents(db, groups)
}
