import { RepriseError } from '../../../domain/errors.ts'
import { readChannelKernels, type ChannelKernel } from '../../../store/sql/agent/channels.sql.ts'
import { assertMayChange } from '../../access/authorize.ts'
import type { ServiceContext } from '../../service-context.ts'
import { requireSessionId } from '../../session/require-session-id.ts'

/** A kernel that runs, on an agent that can be asked. */
export interface ChannelTarget {
  sessionId: string
  projectId: string
  kernelId: string
  kernelName: string
  assignment: number
  agentId: string
  agentName: string
}

/**
 * The kernel of a session that a channel is to lead to. Who may change a session may do in it what its program may do.
 *
 * @param name `main1`, …; without it the first one
 * @throws RepriseError FORBIDDEN, SESSION_NOT_FOUND, KERNEL_NOT_FOUND, SESSION_NOT_RUNNING, CHANNEL_NOT_OPENED
 */
export async function findChannelKernel(
  { db, viewer }: Pick<ServiceContext, 'db' | 'viewer'>,
  { sessionId, name }: { sessionId: string; name: string | null },
): Promise<ChannelTarget> {
  assertMayChange(viewer)
  requireSessionId(sessionId)
  const kernels = await readChannelKernels(db, sessionId, viewer.projectId)
  const [first] = kernels
  if (first === undefined) throw new RepriseError('SESSION_NOT_FOUND', `no session ${sessionId}`)
  const kernel = name === null ? first : kernels.find((each) => each.name === name)
  if (kernel === undefined) {
    const names = kernels.map((each) => each.name).join(', ')
    throw new RepriseError('KERNEL_NOT_FOUND', `no kernel ${name!.slice(0, 100)} of this session, but ${names}`)
  }
  return { sessionId, ...placeOf(sessionId, kernel) }
}

function placeOf(sessionId: string, kernel: ChannelKernel): Omit<ChannelTarget, 'sessionId'> {
  const { projectId, sessionStatus, kernelId, name: kernelName, status, assignment, agentId, agentName } = kernel
  if (sessionStatus !== 'RUNNING' || status !== 'RUNNING' || agentId === null || agentName === null) {
    const what = sessionStatus === 'RUNNING' ? `kernel ${kernelName} is ${status}` : `it is ${sessionStatus}`
    throw new RepriseError('SESSION_NOT_RUNNING', `session ${sessionId} does not run: ${what}`)
  }
  if (kernel.agentStatus === 'LOST')
    throw new RepriseError('CHANNEL_NOT_OPENED', `its agent ${agentName} is not heard from`)
  return { projectId, kernelId, kernelName, assignment, agentId, agentName }
}
