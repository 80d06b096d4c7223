import {
  type AgentWorkRow,
  countGroupAgents as countAgents,
  countWorkOnAgents,
  type GroupAgentRow,
  readGroupAgents as readAgents,
  readKernelsOnAgents as readKernels,
  readSessionsOnAgents as readSessions,
} from '../../store/sql/agent/agent-work.sql.ts'
import type { ServiceContext } from '../service-context.ts'

export type { AgentWorkRow, GroupAgentRow }

type Reader = Pick<ServiceContext, 'db' | 'viewer'>

/** A page, newest first: only entries older than `before`, or all if it is missing. */
interface WorkPage {
  agentIds: readonly string[]
  before: string | null
  limit: number
}

/** Reads the kernels that agents have now, of sessions that the viewer sees. */
export function readKernelsOnAgents({ db, viewer }: Reader, page: WorkPage): Promise<AgentWorkRow[]> {
  return readKernels(db, { ...page, visibleProjectId: viewer.projectId })
}

/** Reads the sessions of these kernels. */
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

/** Reads a page of the agents of each group, by name. Every viewer sees agents. */
export function readGroupAgents(
  { db }: Pick<Reader, 'db'>,
  { groups, after, limit }: { groups: readonly string[]; after: { name: string; id: string } | null; limit: number },
): Promise<GroupAgentRow[]> {
  return readAgents(db, groups, after, limit)
}

export function countGroupAgents({ db }: Pick<Reader, 'db'>, groups: readonly string[]): Promise<Map<string, number>> {
  return countAgents(db, groups)
}
