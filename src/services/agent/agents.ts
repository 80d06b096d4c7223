import { RepriseError } from '../../domain/errors.ts'
import type { Prisma } from '../../store/prisma.ts'
import { AGENTS_BY_NAME, keysetPage, type Page, type PageArguments } from '../paging.ts'
import type { ReadContext } from '../session/read-sessions.ts'
import {
  type AgentChange,
  drainAgentRow,
  readVolumeRows,
  removeAgentRow,
  resumeAgentRow,
  returnGpuRow,
  takeGpuRow,
  type Volume,
} from '../../store/sql/agent/agents.sql.ts'
import type { ServiceContext, Viewer } from '../service-context.ts'
import { projectScope } from '../access/tenants.ts'
import { z } from 'zod'
import { LEASE } from '../../domain/agent/lease.ts'
import { NAME_LENGTH_MAX } from '../../domain/limits.ts'
import { actorOf, assertMayAdminister } from '../access/authorize.ts'
import { nameWhere, text, type TextFilterInput } from '../input/input-fields.ts'
import { parseInput } from '../input/parse-input.ts'
import { drainReason } from '../resource-group.ts'

const RELATED = { slots: { orderBy: { slot: 'asc' } } } as const satisfies Prisma.AgentInclude

/** A complete agent, for REST; GraphQL reads only what its query selects. Every viewer sees all agents. */
export type AgentRecord = Prisma.AgentGetPayload<{ include: typeof RELATED }>

/** A filter; all given conditions must match, and null counts as missing. */
interface AgentFilterInput {
  status?: AgentRecord['status'][] | null | undefined
  resourceGroup?: string | null | undefined
  name?: TextFilterInput | null | undefined
}

/** @throws RepriseError VALIDATION_FAILED */
export function agentWhere({ status, resourceGroup, name }: AgentFilterInput): Prisma.AgentWhereInput {
  return {
    ...(status && { status: { in: status } }),
    ...(resourceGroup != null && { resourceGroup }),
    ...nameWhere(name),
  }
}

/** @throws RepriseError AGENT_NOT_FOUND */
export async function readAgent({ prisma }: Pick<ReadContext, 'prisma'>, id: string): Promise<AgentRecord> {
  const agent = await prisma.agent.findUnique({ where: { id }, include: RELATED })
  if (!agent) throw new RepriseError('AGENT_NOT_FOUND', `no agent ${id}`)
  return agent
}

/**
 * Reads agents by name.
 * @throws RepriseError VALIDATION_FAILED
 */
export function readAgents(
  { prisma }: Pick<ReadContext, 'prisma'>,
  { filter, page }: { filter: AgentFilterInput; page: PageArguments },
): Promise<Page<AgentRecord>> {
  const wanted = agentWhere(filter)
  return keysetPage({
    args: page,
    order: AGENTS_BY_NAME,
    find: ({ where, ...rest }) => prisma.agent.findMany({ ...rest, where: { AND: [wanted, where] }, include: RELATED }),
    count: () => prisma.agent.count({ where: wanted }),
  })
}

export type { Volume }

/**
 * Reads the volumes of all agents that sessions of the viewer's project may use, by name; all volumes for a viewer
 * without a project.
 */
export function readVolumes({ db }: Pick<ServiceContext, 'db'>, { projectId }: Viewer): Promise<Volume[]> {
  return readVolumeRows(db, projectId)
}

export type KernelRecord = Prisma.KernelGetPayload<object>

/**
 * Reads the kernels of a session, `main` first.
 * @throws RepriseError SESSION_NOT_FOUND
 */
export async function readKernels(
  { prisma, viewer }: Pick<ReadContext, 'prisma' | 'viewer'>,
  sessionId: string,
): Promise<KernelRecord[]> {
  const session = await prisma.session.findFirst({
    where: { id: sessionId, ...projectScope(viewer) },
    select: { kernels: { orderBy: [{ role: 'asc' }, { index: 'asc' }] } },
  })
  if (!session) throw new RepriseError('SESSION_NOT_FOUND', `no session ${sessionId}`)
  return session.kernels
}

const schema = z.strictObject({ agentId: z.uuid(), reason: drainReason.nullish() })

export type ChangeAgentInput = z.input<typeof schema>

/**
 * Drains an agent. Its kernels keep running. It gets no new ones until it is resumed, even if it restarts, or is lost
 * and returns.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, AGENT_NOT_FOUND
 */
export async function drainAgent(context: ServiceContext, input: ChangeAgentInput): Promise<{ agentId: string }> {
  return (await change(context, input, drainAgentRow)).id
}

/** @throws RepriseError FORBIDDEN, VALIDATION_FAILED, AGENT_NOT_FOUND */
export async function resumeAgent(context: ServiceContext, input: ChangeAgentInput): Promise<{ agentId: string }> {
  const { id } = await change(context, input, resumeAgentRow)
  context.wake.wake('schedule-sessions')
  return id
}

/**
 * Removes an agent: a lost or drained agent without kernels becomes TERMINATED. It can be used again after its program
 * is restarted.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, AGENT_NOT_FOUND, AGENT_IN_USE
 */
export async function removeAgent(context: ServiceContext, input: ChangeAgentInput): Promise<{ agentId: string }> {
  const { id, found } = await change(context, input, removeAgentRow)
  if (found.changed || found.status === 'TERMINATED') return id
  const has = `agent ${id.agentId} is ${found.status} and has ${found.kernels} kernels that may run`
  throw new RepriseError('AGENT_IN_USE', `${has}: it must be drained or lost, and empty`)
}

const gpuSchema = schema.extend({ uuid: text(NAME_LENGTH_MAX) })

/**
 * Puts a GPU back into service that its agent has taken out because of a fault, or a person. The agent does it with its next
 * exchange, and takes it out again if it still finds a fault.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, AGENT_NOT_FOUND, GPU_NOT_FOUND
 */
export async function returnGpu(
  { db, viewer, wake }: ServiceContext,
  input: ChangeAgentInput & { uuid: string },
): Promise<{ agentId: string }> {
  assertMayAdminister(viewer, 'CLUSTER')
  const { agentId, uuid, reason = null } = parseInput(gpuSchema, input)
  const changed = await returnGpuRow(db, { agentId, uuid, reason, actor: actorOf(viewer, reason) })
  if (changed === undefined) throw new RepriseError('AGENT_NOT_FOUND', `no agent ${agentId}`)
  if (!changed) throw new RepriseError('GPU_NOT_FOUND', `agent ${agentId} has no GPU ${uuid} that is out of service`)
  wake.wakeAgents([agentId])
  return { agentId }
}

/**
 * Takes a GPU out of service until it is returned. The agent does it with its next exchange, also if it is away now.
 * Kernels that have the GPU run on; none starts with it.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, AGENT_NOT_FOUND, GPU_NOT_FOUND
 */
export async function takeGpu(
  { db, viewer, wake }: ServiceContext,
  input: ChangeAgentInput & { uuid: string },
): Promise<{ agentId: string }> {
  assertMayAdminister(viewer, 'CLUSTER')
  const { agentId, uuid, reason = null } = parseInput(gpuSchema, input)
  const fault = `taken out by ${viewer.name}${reason === null ? '' : `: ${reason}`}`
  const changed = await takeGpuRow(db, { agentId, uuid, reason, actor: actorOf(viewer, reason) }, fault)
  if (changed === undefined) throw new RepriseError('AGENT_NOT_FOUND', `no agent ${agentId}`)
  if (!changed) throw new RepriseError('GPU_NOT_FOUND', `agent ${agentId} has no GPU ${uuid} that is in service`)
  wake.wakeAgents([agentId])
  return { agentId }
}

async function change(
  { db, viewer }: ServiceContext,
  input: ChangeAgentInput,
  write: typeof drainAgentRow,
): Promise<{ id: { agentId: string }; found: AgentChange }> {
  assertMayAdminister(viewer, 'CLUSTER')
  const { agentId, reason = null } = parseInput(schema, input)
  const wish = { agentId, reason, actor: actorOf(viewer, reason), fenceMarginMs: LEASE.fenceMarginMs }
  const found = await write(db, wish)
  if (!found) throw new RepriseError('AGENT_NOT_FOUND', `no agent ${agentId}`)
  return { id: { agentId }, found }
}
