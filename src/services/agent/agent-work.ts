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
import type { CodeAnswer, CodeRequest } from '../../domain/agent/protocol.ts'
import { RepriseError } from '../../domain/errors.ts'
import { readKernelCode } from '../../store/sql/code.sql.ts'
import type { CodeStore } from '../code/code-store.ts'

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

/**
 * Opens the uploaded code of a kernel that the agent has now.
 * @throws RepriseError KERNEL_NOT_FOUND, CODE_NOT_FOUND
 */
export async function openKernelCode(
  { db, code }: Pick<ServiceContext, 'db'> & { code: CodeStore },
  request: CodeRequest,
): Promise<CodeAnswer> {
  const { kernelId } = request
  const found = await readKernelCode(db, request)
  if (found === undefined) {
    throw new RepriseError('KERNEL_NOT_FOUND', `kernel ${kernelId} is not assigned to this agent`)
  }
  const { projectId, sha256 } = found
  if (sha256 === null) throw new RepriseError('CODE_NOT_FOUND', `kernel ${kernelId} has no uploaded code`)
  const opened = await code.open({ projectId, sha256 })
  if (opened !== null) return opened
  const advice = 'all servers must share one REPRISE_CHECKPOINT_DIR'
  throw new RepriseError(
    'CODE_NOT_FOUND',
    `the uploaded code ${sha256} is gone from this server's directory; ${advice}`,
  )
}
