import { z } from 'zod'
import { LEASE, type Lease } from '../../domain/agent/lease.ts'
import type { RegisterAnswer, RegisterRequest } from '../../domain/agent/protocol.ts'
import { VOLUME_NAME, VOLUME_NAME_RULE } from '../../domain/session/mount/volume-name.ts'
import { RepriseError } from '../../domain/errors.ts'
import {
  AGENT_VOLUMES_MAX,
  AGENT_WARNING_LENGTH_MAX,
  AGENT_WARNINGS_MAX,
  LABELS_MAX,
  NAME_LENGTH_MAX,
  REFUSAL_LENGTH_MAX,
  SLOTS_MAX,
  VOLUME_PROJECTS_MAX,
} from '../../domain/limits.ts'
import { isPlainText, PLAIN_TEXT } from '../../domain/plain-text.ts'
import { isStorableText, UNSTORABLE } from '../../domain/storable-text.ts'
import { bindChainStore, readGroupFence, registerAgentRow } from '../../store/sql/agent/register-agent.sql.ts'
import { assertMayServe, notYours, speaksForAll, storeOfOthers } from './agent-ownership.ts'
import type { ServiceContext, Viewer } from '../service-context.ts'
import { parseInput } from '../input/parse-input.ts'

const amount = z.string().regex(/^\d{1,21}(\.\d{1,9})?$/, 'must be a plain decimal of at most 9 fraction digits')

const text = textOf(NAME_LENGTH_MAX)
const warning = z.object({
  // A newer agent may know more of them.
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

const schema = z.object({
  agentId: z.uuid(),
  instanceId: z.uuid(),
  name: text.min(1),
  resourceGroup: text.min(1),
  // Used in lists of `name=address`.
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
  refuses: z
    .string()
    .max(REFUSAL_LENGTH_MAX)
    .refine(isStorableText, UNSTORABLE)
    .refine(isPlainText, PLAIN_TEXT)
    .optional(),
})

/**
 * @param viewer whose token the agent comes with; null for the embedded one
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

function textOf(lengthMax: number) {
  return z.string().max(lengthMax).refine(isStorableText, UNSTORABLE).refine(isPlainText, PLAIN_TEXT)
}
