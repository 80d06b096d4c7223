import { z } from 'zod'
import {
  COUNTED_ROWS_MAX,
  EXECUTOR_OPTIONS_MAX,
  FENCE_AFTER_MIN_SECONDS,
  GROUP_TIMEOUT_MAX_SECONDS,
  GROUP_TRIES_MAX,
  REASON_LENGTH_MAX,
} from '../domain/limits.ts'
import { counted } from '../domain/amounts.ts'
import { RepriseError, type ValidationIssue } from '../domain/errors.ts'
import { isStorableText, STORABLE_TEXT } from '../domain/storable-text.ts'
import { executorOptionKey, executorOptions } from './session/session-fields.ts'
import {
  addGroup,
  countGroupPending as count,
  countGroupUsers,
  deleteGroup,
  type GroupOptions,
  type GroupPendingRow,
  type GroupSlotRow,
  lockGroupOptions,
  type PendingPlace,
  readGroupPending as readPending,
  readGroupSlots as readSlots,
  writeGroupOptions,
} from '../store/sql/resource-group.sql.ts'
import { recordAudit } from '../store/sql/access/audit.sql.ts'
import { actorOf, assertMayAdminister } from './access/authorize.ts'
import { entityName } from './input/input-fields.ts'
import { parseInput, refuseInput } from './input/parse-input.ts'
import type { ServiceContext } from './service-context.ts'

const MS = 1_000
const seconds = (min: number) =>
  z
    .number()
    .min(min)
    .max(GROUP_TIMEOUT_MAX_SECONDS)
    .transform((value) => Math.round(value * MS))
const timeout = seconds(1 / MS)

export const drainReason = z.string().min(1).max(REASON_LENGTH_MAX).refine(isStorableText, STORABLE_TEXT)

const areDistinct = (words: readonly string[]) => new Set(words).size === words.length
const NAMED_ONCE = 'must be named once each'

/**
 * Options of a group. A missing field keeps the present option. Null does the same where null is not allowed. Durations
 * are in seconds.
 */
const groupOptions = z.strictObject({
  sequencer: z.enum(['FIFO', 'LIFO', 'DRF']).nullish(),
  selector: z.enum(['CONCENTRATED', 'DISPERSED', 'ROUND_ROBIN']).nullish(),
  maxTries: z.int().min(1).max(GROUP_TRIES_MAX).nullish(),
  maxReschedules: z.int().min(0).max(GROUP_TRIES_MAX).nullish(),
  pendingTimeout: timeout.nullish(),
  prepareTimeout: timeout.nullish(),
  createTimeout: timeout.nullish(),
  queueTimeout: timeout.nullish(),
  terminateTimeout: timeout.nullish(),
  fenceAfter: seconds(FENCE_AFTER_MIN_SECONDS).nullish(),
  stopGrace: seconds(0).nullish(),
  stopGraceMax: seconds(0).nullish(),
  allowedSessionTypes: z
    .array(z.enum(['BATCH', 'INTERACTIVE', 'INFERENCE']))
    .min(1)
    .refine(areDistinct, NAMED_ONCE)
    .nullish(),
  executorOptions: executorOptions.nullish(),
  allowedExecutorOptions: z
    .array(executorOptionKey)
    .max(EXECUTOR_OPTIONS_MAX)
    .refine(areDistinct, NAMED_ONCE)
    .nullish(),
  draining: z.boolean().nullish(),
  drainReason: drainReason.nullish(),
})

type ParsedOptions = z.output<typeof groupOptions>

const createSchema = groupOptions.extend({ name: entityName })

type CreateResourceGroupInput = z.input<typeof createSchema>

/**
 * Creates a pool of agents, which join it by its name. Missing options get their defaults.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, NAME_TAKEN
 */
export async function createResourceGroup(
  context: ServiceContext,
  input: CreateResourceGroupInput,
): Promise<{ name: string }> {
  const { db, viewer } = context
  assertMayAdminister(viewer, 'CLUSTER')
  const { name, ...options } = parseInput(createSchema, input)
  await db.transaction(async (tx) => {
    if (!(await addGroup(tx, name))) {
      const message = `there is a resource group ${name} already`
      throw new RepriseError('NAME_TAKEN', message, [], { type: 'ResourceGroup', id: name })
    }
    const after = changedOptions((await lockGroupOptions(tx, name))!, options)
    const issues = optionIssues(after, options)
    if (issues.length > 0) refuseInput(issues)
    await writeGroupOptions(tx, name, after)
    const details = { name, options: after }
    await recordAudit(tx, { actor: actorOf(viewer), action: 'resource_group.create', projectId: null, details })
  })
  return { name }
}

const updateSchema = groupOptions.extend({ name: z.string() })

type UpdateResourceGroupInput = z.input<typeof updateSchema>

/**
 * Changes options of a group. They take effect with the next pass of each handler. Existing sessions keep their type,
 * and an agent keeps its fence until it registers again.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, RESOURCE_GROUP_NOT_FOUND
 */
export async function updateResourceGroup(
  context: ServiceContext,
  input: UpdateResourceGroupInput,
): Promise<{ name: string }> {
  const { db, viewer, wake } = context
  assertMayAdminister(viewer, 'CLUSTER')
  const { name, ...options } = parseInput(updateSchema, input)
  await db.transaction(async (tx) => {
    const before = name.includes('\0') ? undefined : await lockGroupOptions(tx, name)
    if (!before) throw new RepriseError('RESOURCE_GROUP_NOT_FOUND', `no resource group ${name}`)
    const after = changedOptions(before, options)
    const issues = optionIssues(after, options)
    if (issues.length > 0) refuseInput(issues)
    await writeGroupOptions(tx, name, after)
    const details = { name, before, after }
    await recordAudit(tx, { actor: actorOf(viewer), action: 'resource_group.update', projectId: null, details })
  })
  wake.wake('schedule-sessions')
  return { name }
}

/** The group of sessions and agents that name none. */
const DEFAULT_GROUP = 'default'

/**
 * Deletes a group. Finished sessions keep its name; it may be created again.
 * @throws RepriseError FORBIDDEN, RESOURCE_GROUP_NOT_FOUND, RESOURCE_GROUP_IN_USE
 */
export async function deleteResourceGroup(
  context: ServiceContext,
  { name }: { name: string },
): Promise<{ name: string }> {
  const { db, viewer } = context
  assertMayAdminister(viewer, 'CLUSTER')
  await db.transaction(async (tx) => {
    const options = name.includes('\0') ? undefined : await lockGroupOptions(tx, name)
    if (!options) throw new RepriseError('RESOURCE_GROUP_NOT_FOUND', `no resource group ${name}`)
    if (name === DEFAULT_GROUP)
      throw new RepriseError('RESOURCE_GROUP_IN_USE', 'it is the default group, used where none is named')
    const { agents, sessions, deployments, retries } = await countGroupUsers(tx, name)
    if (agents + sessions + deployments + retries > 0) {
      const open = `${counted(sessions, 'unfinished session')}, ${counted(deployments, 'deployment')}`
      const counts = `${counted(agents, 'agent')}, ${open} and ${counted(retries, 'waiting retry', 'waiting retries')}`
      throw new RepriseError('RESOURCE_GROUP_IN_USE', `resource group ${name} has ${counts}`)
    }
    await deleteGroup(tx, name)
    const details = { name, options }
    await recordAudit(tx, { actor: actorOf(viewer), action: 'resource_group.delete', projectId: null, details })
  })
  return { name }
}

export type { GroupPendingRow, PendingPlace }

type Reader = Pick<ServiceContext, 'db' | 'viewer'>

/** Reads a page of the sessions that wait in each group and that the viewer sees, in FIFO order. */
export function readGroupPending(
  { db, viewer }: Reader,
  page: { groups: readonly string[]; after: PendingPlace | null; limit: number },
): Promise<GroupPendingRow[]> {
  return readPending(db, { ...page, visibleProjectId: viewer.projectId })
}

/** Counts up to one more than `COUNTED_ROWS_MAX`. */
export function countGroupPending({ db, viewer }: Reader, groups: readonly string[]): Promise<Map<string, number>> {
  return count(db, groups, viewer.projectId, COUNTED_ROWS_MAX + 1)
}

export type { GroupSlotRow }

/** Reads capacity and use of each resource group, by slot. */
export function readGroupSlots({ db }: Pick<ServiceContext, 'db'>, groups: readonly string[]): Promise<GroupSlotRow[]> {
  return readSlots(db, groups)
}

/** Computes the group's columns from these options. Null removes an optional timeout. */
function changedOptions(before: GroupOptions, input: ParsedOptions): GroupOptions {
  const liftable = (given: number | null | undefined, present: number | null) => (given === undefined ? present : given)
  const draining = input.draining ?? before.draining
  return {
    sequencer: input.sequencer ?? before.sequencer,
    selector: input.selector ?? before.selector,
    triesMax: input.maxTries ?? before.triesMax,
    reschedulesMax: input.maxReschedules ?? before.reschedulesMax,
    pendingTimeoutMs: liftable(input.pendingTimeout, before.pendingTimeoutMs),
    prepareTimeoutMs: liftable(input.prepareTimeout, before.prepareTimeoutMs),
    createTimeoutMs: liftable(input.createTimeout, before.createTimeoutMs),
    queueTimeoutMs: liftable(input.queueTimeout, before.queueTimeoutMs),
    terminateTimeoutMs: input.terminateTimeout ?? before.terminateTimeoutMs,
    fenceAfterMs: input.fenceAfter ?? before.fenceAfterMs,
    stopGraceMs: input.stopGrace ?? before.stopGraceMs,
    stopGraceMaxMs: input.stopGraceMax ?? before.stopGraceMaxMs,
    allowedSessionTypes: input.allowedSessionTypes ?? before.allowedSessionTypes,
    executorOptions: input.executorOptions ?? before.executorOptions,
    allowedExecutorOptions: input.allowedExecutorOptions ?? before.allowedExecutorOptions,
    draining,
    drainReason: draining ? (input.drainReason === undefined ? before.drainReason : input.drainReason) : null,
  }
}

/** Finds faults in the combination of options. */
function optionIssues({ terminateTimeoutMs, stopGraceMs }: GroupOptions, input: ParsedOptions): ValidationIssue[] {
  const issues: ValidationIssue[] = []
  if (stopGraceMs >= terminateTimeoutMs) {
    const path = input.stopGrace == null ? 'terminateTimeout' : 'stopGrace'
    issues.push({ path, message: 'stopGrace must be less than terminateTimeout' })
  }
  if (input.drainReason != null && input.draining === false) {
    issues.push({ path: 'drainReason', message: 'only for a group that is drained' })
  }
  return issues
}
