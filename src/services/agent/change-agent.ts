import { z } from 'zod'
import { LEASE } from '../../domain/agent/lease.ts'
import { RepriseError } from '../../domain/errors.ts'
import {
  drainAgentRow,
  removeAgentRow,
  resumeAgentRow,
  type AgentChange,
} from '../../store/sql/agent/change-agent.sql.ts'
import { assertMayAdminister } from '../access/authorize.ts'
import { parseInput } from '../input/parse-input.ts'
import { drainReason } from '../resource-group/resource-group-input.ts'
import type { ServiceContext } from '../service-context.ts'
import { actorOf } from '../access/actor.ts'

const schema = z.strictObject({ agentId: z.uuid(), reason: drainReason.nullish() })

export type ChangeAgentInput = z.input<typeof schema>

/**
 * Its kernels keep running. It gets no new ones until it is resumed, even if it restarts, or is lost and returns.
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
 * A lost or drained agent without kernels becomes TERMINATED. It takes part again when its program is restarted.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, AGENT_NOT_FOUND, AGENT_IN_USE
 */
export async function removeAgent(context: ServiceContext, input: ChangeAgentInput): Promise<{ agentId: string }> {
  const { id, found } = await change(context, input, removeAgentRow)
  if (found.changed || found.status === 'TERMINATED') return id
  const has = `agent ${id.agentId} is ${found.status} and has ${found.kernels} kernels that may run`
  throw new RepriseError('AGENT_IN_USE', `${has}: it must be drained or lost, and empty`)
}

async function change(
  { db, viewer }: ServiceContext,
  input: ChangeAgentInput,
  write: typeof drainAgentRow,
): Promise<{ id: { agentId: string }; found: AgentChange }> {
  assertMayAdminister(viewer, 'CLUSTER')
  const { agentId, reason = null } = parseInput(schema, input)
  const wish = { agentId, reason, actor: actorOf(viewer), fenceMarginMs: LEASE.fenceMarginMs }
  const found = await write(db, wish)
  if (!found) throw new RepriseError('AGENT_NOT_FOUND', `no agent ${agentId}`)
  return { id: { agentId }, found }
}
