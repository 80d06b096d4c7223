import { RepriseError } from '../../domain/errors.ts'
import type { Database } from '../../store/database.ts'
import {
  bindChainStore,
  readAgentToken,
  readGroupFence,
  registerAgentRow,
} from '../../store/sql/agent/register-agent.sql.ts'
import type { ServiceContext, Viewer } from '../service-context.ts'
import { z } from 'zod'
import { LEASE, type Lease } from '../../domain/agent/lease.ts'
import type { RegisterAnswer, RegisterRequest } from '../../domain/agent/protocol.ts'
import { VOLUME_NAME, VOLUME_NAME_RULE } from '../../domain/session/mounts.ts'
import { GPU_SLOTS, type ObservedGpu } from '../../domain/gpu.ts'
import {
  AGENT_GPUS_MAX,
  AGENT_VOLUMES_MAX,
  AGENT_WARNING_LENGTH_MAX,
  AGENT_WARNINGS_MAX,
  GPU_FAULT_LENGTH_MAX,
  GPU_SHARING_MAX,
  LABELS_MAX,
  NAME_LENGTH_MAX,
  REFUSAL_LENGTH_MAX,
  SLOTS_MAX,
  VOLUME_PROJECTS_MAX,
} from '../../domain/limits.ts'
import { isPlainText, isStorableText, PLAIN_TEXT, UNSTORABLE } from '../../domain/storable-text.ts'
import { parseInput } from '../input/parse-input.ts'

/** An upper bound of the agents kept in memory, far more than there are. */
const REMEMBERED_AGENTS_MAX = 50_000

/**
 * Decides which token may act for an agent: the one that registered it. Another token can take over only after that one
 * is revoked or has expired. Administrators of the whole cluster may act for any agent.
 */
export interface AgentOwnership {
  /** @throws RepriseError FORBIDDEN */
  assertIsAgent(viewer: Viewer): void
  /**
   * Checks the token of an agent; an unknown agent belongs to no token.
   * @throws RepriseError FORBIDDEN
   */
  assertOwns(viewer: Viewer, agentId: string): Promise<void>
}

export function createAgentOwnership(db: Database): AgentOwnership {
  // Entries never become wrong: when an agent changes its token, the old token is invalid or its instance is
  // superseded.
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

/**
 * Whether the caller may act for any agent: the embedded agent, which has no token, or an administrator of the whole
 * cluster. An administrator of one project would see the work of all tenants.
 */
export function speaksForAll(viewer: Viewer | null): boolean {
  return viewer === null || (viewer.role === 'ADMIN' && viewer.projectId === null)
}

const amount = z.string().regex(/^\d{1,21}(\.\d{1,9})?$/, 'must be a plain decimal of at most 9 fraction digits')

const text = textOf(NAME_LENGTH_MAX)
const warning = z.object({
  // A newer agent may know more kinds.
  kind: z.string().regex(/^[a-z][a-z-]{0,63}$/),
  text: textOf(AGENT_WARNING_LENGTH_MAX).min(1),
})

const slots = z
  .record(z.string().regex(/^[A-Za-z][\w.-]{0,63}$/), amount)
  .refine((given) => Object.keys(given).length <= SLOTS_MAX, `must be at most ${SLOTS_MAX}`)

const volume = z.object({
  name: z.string().regex(VOLUME_NAME, VOLUME_NAME_RULE),
  readOnly: z.boolean(),
  projects: z.array(text.min(1)).max(VOLUME_PROJECTS_MAX).nullable(),
})

const figure = z.number().min(0).max(Number.MAX_SAFE_INTEGER).nullable()

const gpu: z.ZodType<ObservedGpu> = z.object({
  slot: z.enum(GPU_SLOTS),
  uuid: z.string().regex(/^[A-Za-z0-9-]{1,80}$/),
  index: z.int().min(0).max(1_000_000),
  name: text.min(1),
  memoryBytes: figure,
  kernelId: z.uuid().nullable(),
  fault: textOf(GPU_FAULT_LENGTH_MAX).nullable(),
  temperatureCelsius: figure,
  usedMemoryBytes: figure,
  utilization: z.number().min(0).max(1).nullable(),
})

export const observedGpus = z.array(gpu).max(AGENT_GPUS_MAX)

const schema = z.object({
  agentId: z.uuid(),
  instanceId: z.uuid(),
  name: text.min(1),
  resourceGroup: text.min(1),
  // The address is used in lists of `name=address`.
  address: text.regex(/^[^\s,=]*$/, 'must be without spaces, commas and ='),
  version: text,
  slots,
  labels: z
    .record(text, text)
    .refine((labels) => Object.keys(labels).length <= LABELS_MAX, `must be at most ${LABELS_MAX}`),
  isolation: z.object({ name: z.string().regex(/^[a-z][a-z+-]{0,63}$/), byHand: z.boolean() }).optional(),
  chainStore: z.uuid().optional(),
  executor: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,63}$/)
    .optional(),
  slotsPerKernelMax: slots.optional(),
  ports: z.boolean().optional(),
  judgesTime: z.boolean().optional(),
  volumes: z
    .array(volume)
    .max(AGENT_VOLUMES_MAX)
    .refine((volumes) => new Set(volumes.map(({ name }) => name)).size === volumes.length, 'must be named once each')
    .optional(),
  warnings: z.array(warning).max(AGENT_WARNINGS_MAX).optional(),
  refuses: textOf(REFUSAL_LENGTH_MAX).optional(),
  gpus: observedGpus.optional(),
  gpuFault: textOf(GPU_FAULT_LENGTH_MAX).optional(),
  gpuSharing: z.int().min(2).max(GPU_SHARING_MAX).optional(),
})

/**
 * @param viewer the viewer of the agent's token; null for the embedded agent
 * @throws RepriseError VALIDATION_FAILED, RESOURCE_GROUP_NOT_FOUND, FORBIDDEN
 */
export async function registerAgent(
  { db, wake, lease = LEASE }: Pick<ServiceContext, 'db' | 'wake'> & { lease?: Lease },
  request: RegisterRequest,
  viewer: Viewer | null = null,
): Promise<RegisterAnswer> {
  const parsed = parseInput(schema, request)
  assertMayServe(viewer, parsed.resourceGroup)
  const fenceAfterMs = await readGroupFence(db, parsed.resourceGroup)
  if (fenceAfterMs === undefined) {
    throw new RepriseError('RESOURCE_GROUP_NOT_FOUND', `no resource group ${parsed.resourceGroup}`)
  }
  const { chainStore: store, resourceGroup } = parsed
  const groups = viewer?.resourceGroups ?? null
  const claim = { tokenId: viewer?.tokenId ?? null, takesOver: speaksForAll(viewer), embedded: viewer === null }
  const logOffsets = await db.transaction(async (tx) => {
    if (store !== undefined) {
      const others = await bindChainStore(tx, { store, resourceGroup, groups })
      if (others !== null) throw storeOfOthers(viewer!, resourceGroup, others)
    }
    const registered = await registerAgentRow(tx, { ...parsed, fenceAfterMs }, claim)
    if (!registered) throw notYours(viewer!, parsed.agentId)
    return registered
  })
  wake.wake('schedule-sessions')
  return { logOffsets, heartbeatMs: lease.heartbeatMs, fenceAfterMs, heedsGone: true }
}

/**
 * Checks the resource group. A token may be bound to groups, and its agents get only their work. @throws RepriseError
 * FORBIDDEN
 */
function assertMayServe(viewer: Viewer | null, resourceGroup: string): void {
  const { resourceGroups = null, name = '' } = viewer ?? {}
  if (resourceGroups === null || resourceGroups.includes(resourceGroup)) return
  const message = `The token "${name}" is for agents of ${resourceGroups.join(', ')}, not of ${resourceGroup}.`
  throw new RepriseError('FORBIDDEN', message)
}

function notYours(viewer: Viewer, agentId: string): RepriseError {
  const message = `The agent ${agentId} is registered with another token than "${viewer.name}", and that token is still valid.`
  return new RepriseError('FORBIDDEN', `${message} Revoke that token first, or give this agent its own data directory.`)
}

/** The error for a store of other groups, whose names not every viewer may see. */
function storeOfOthers(viewer: Viewer, resourceGroup: string, others: readonly string[]): RepriseError {
  const whose = others.length === 1 ? 'another resource group' : 'other resource groups'
  return new RepriseError(
    'FORBIDDEN',
    `The directory of chains (REPRISE_CHAINS_DIR, --chains-dir) belongs to agents of ${whose}, and the token ` +
      `"${viewer.name}" may not serve them. Register once with a token for those groups and ${resourceGroup}, or give ` +
      'this agent its own directory.',
  )
}

function textOf(lengthMax: number) {
  return z.string().max(lengthMax).refine(isStorableText, UNSTORABLE).refine(isPlainText, PLAIN_TEXT)
}
