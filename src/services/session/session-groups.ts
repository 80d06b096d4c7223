import { createHash } from 'node:crypto'
import { newId } from '../../store/new-id.ts'
import { z } from 'zod'
import { RepriseError, type ValidationIssue } from '../../domain/errors.ts'
import {
  CONCURRENCY_LIMIT_MAX,
  CREATE_SESSIONS_MAX,
  GROUP_INDEXES_LENGTH_MAX,
  GROUP_KEY_LENGTH_MAX,
  GROUP_MEMBERS_MAX,
  GROUP_MEMBERS_PER_CALL_MAX,
  NAME_LENGTH_MAX,
  REASON_LENGTH_MAX,
} from '../../domain/limits.ts'
import { GROUP_RESTS, parseIndexes } from '../../domain/session/session-group.ts'
import { isStorableText, STORABLE_TEXT } from '../../domain/storable-text.ts'
import type { Queryable } from '../../store/database.ts'
import { recordAudit } from '../../store/sql/access/audit.sql.ts'
import { readByCreationId } from '../../store/sql/session/creation-scope.sql.ts'
import { insertDependencies, readDependencies } from '../../store/sql/session/group-dependencies.sql.ts'
import type { NewSession } from '../../store/sql/session/session-columns.sql.ts'
import {
  cancelGroup,
  type GroupRow,
  growGroup,
  insertGroup,
  lockGroup,
  readGroupByKey,
  readLastIndex,
  readMembers,
} from '../../store/sql/session/session-groups.sql.ts'
import { actorOf, assertMayChange, assertMayEnd } from '../access/authorize.ts'
import { fillProjects } from '../access/tenants.ts'
import { text } from '../input/input-fields.ts'
import {
  argumentError,
  canonicalJson,
  inputError,
  issuesOf,
  issuesUnder,
  parseInput,
  withoutNulls,
} from '../input/parse-input.ts'
import { mapInTurns } from '../next-turn.ts'
import type { ServiceContext } from '../service-context.ts'
import {
  type CreateSessionInput,
  inputDigest,
  parseCreateSession,
  type ParsedCreateSession,
} from './create-session-input.ts'
import { addSessions } from './create-sessions.ts'
import { planFirstAttempt, readPlanScope } from './plan-attempt.ts'
import { groupDependencies, holdAwaited, withSameIndex } from './group-dependencies.ts'
import { groupNotFound, requireGroup } from './read-groups.ts'

/** The fields of a group that a client gives. */
export const groupLimits = z.strictObject({
  name: text(NAME_LENGTH_MAX),
  key: text(GROUP_KEY_LENGTH_MAX).optional(),
  open: z.boolean().default(false),
  indexes: z.string().min(1).max(GROUP_INDEXES_LENGTH_MAX).optional(),
  maxFailed: z.int().min(0).max(GROUP_MEMBERS_MAX).optional(),
  maxFailedPercent: z.number().min(0).max(100).optional(),
  minSucceeded: z.int().min(1).max(GROUP_MEMBERS_MAX).optional(),
  maxRunning: z.int().min(1).max(CONCURRENCY_LIMIT_MAX).optional(),
  onFailure: z.enum(GROUP_RESTS).default('LET_RUN'),
  dependsOn: groupDependencies.default([]),
})
const groupSchema = z.preprocess(withoutNulls, groupLimits)

/** A group as a client gives it; null counts as missing. */
export type GroupInput = { name: string } & {
  [Field in Exclude<keyof z.input<typeof groupLimits>, 'name'>]?: z.input<typeof groupLimits>[Field] | null
}
type ParsedGroup = z.output<typeof groupLimits>

export interface CreatedGroup {
  groupId: string
  /** False if the key was known: the result is the existing group, created with the same input. */
  created: boolean
  /** The first session of each member, in the order of the input; empty with `indexes`. */
  sessionIds: string[]
}

/**
 * Creates a group with its members, all or none of them. With `indexes`, there is a session for each, or one for all.
 *
 * @throws RepriseError VALIDATION_FAILED, PROJECT_NOT_FOUND, RESOURCE_GROUP_NOT_FOUND, DEPENDENCY_NOT_FOUND,
 * GROUP_NOT_FOUND, CREATION_ID_REUSED, QUOTA_EXCEEDED, FORBIDDEN
 */
export async function createGroup(
  context: ServiceContext,
  input: { sessions: readonly CreateSessionInput[]; group: GroupInput },
): Promise<CreatedGroup> {
  assertMayChange(context.viewer)
  const issues: ValidationIssue[] = []
  const group = parseGroup(input.group, issues)!
  if (input.sessions.length === 0) issues.push({ path: 'sessions', message: 'must have at least one session' })
  // Clients of REST may give anything; the issues have what is no text.
  const indexes = typeof input.group.indexes === 'string' ? input.group.indexes : null
  const members = await parseMembers(context, { sessions: input.sessions, indexes, path: 'group.indexes' }, issues)
  const [first] = members as [Member, ...Member[]]
  const groupId = newId()
  const sessions = await planMembers(context, members, { groupId, maxRunning: group.maxRunning ?? null })
  const { projectId } = sessions[0]!
  const digest = digestOf(group, members)
  const known = await context.db.transaction(async (tx) => {
    const isNew = await insertGroup(tx, {
      id: groupId,
      projectId,
      userId: context.viewer.userId,
      key: group.key ?? null,
      name: group.name,
      isOpen: group.open,
      creationDigest: group.key === undefined ? null : digest,
      maxFailed: group.maxFailed ?? null,
      maxFailedPercent: group.maxFailedPercent ?? null,
      minSucceeded: group.minSucceeded ?? null,
      maxRunning: group.maxRunning ?? null,
      onFailure: group.onFailure,
      createdBy: context.viewer.name,
    })
    if (!isNew) return readGroupByKey(tx, group.key!, { project: first.value.project, visibleProjectId: projectId })
    const awaited = await holdAwaited(tx, context, group.dependsOn, projectId)
    await insertMembers(tx, context, await withSameIndex(tx, group.dependsOn, sessions))
    await insertDependencies(tx, groupId, awaited)
    await growGroup(tx, groupId, { by: sessions.length, isOpen: group.open })
    return undefined
  })
  const numbers = indexes === null ? members.map(({ index }) => index) : []
  if (known !== undefined) return repeated(context, known, { digest, numbers })
  context.wake.wake('schedule-sessions', 'settle-groups', 'events')
  context.log.info({ groupId, members: sessions.length }, `created the group ${group.name}`)
  return { groupId, created: true, sessionIds: numbers.map((at) => sessions[at]!.id) }
}

async function repeated(
  { db }: ServiceContext,
  known: GroupRow,
  { digest, numbers }: { digest: string; numbers: readonly number[] },
): Promise<CreatedGroup> {
  if (known.creationDigest !== digest) {
    const message = `the key ${known.key} belongs to group ${known.id}, which was created with another input`
    throw new RepriseError('CREATION_ID_REUSED', message)
  }
  const members = await readMembers(db, known.id, numbers)
  return { groupId: known.id, created: false, sessionIds: numbers.flatMap((index) => members.get(index) ?? []) }
}

/**
 * Adds members to an open group, all or none of them. A member whose creation id is known is left out, and so is an index
 * that is taken if `indexes` are given, so the call may be repeated.
 *
 * @throws RepriseError GROUP_NOT_FOUND, GROUP_CLOSED, and as createGroup
 */
export async function addGroupMembers(
  context: ServiceContext,
  input: {
    groupId: string
    sessions?: readonly CreateSessionInput[] | null
    indexes?: string | null
    close?: boolean | null
  },
): Promise<{ groupId: string; added: number }> {
  assertMayChange(context.viewer)
  const { groupId: id, sessions: given = null, indexes = null, close = false } = input
  const members = await parseMembers(context, { sessions: given ?? [], indexes })
  const before = await requireGroup(context, id)
  const planned = await planMembers(context, members, { groupId: id, maxRunning: before.maxRunning })
  if (planned.some(({ projectId }) => projectId !== before.projectId))
    throw argumentError('sessions', 'The members of a group are in its project.')
  const added = await context.db.transaction(async (tx) => {
    const group = await lockGroup(tx, id, context.viewer.projectId)
    if (group === undefined) throw groupNotFound(id)
    const isClosed = !group.isOpen || group.outcome !== null
    if (isClosed && (planned.length > 0 || close !== true)) throw closed(group)
    const wanted = await newMembers(tx, group, planned, indexes === null)
    if (group.counts.total + wanted.length > GROUP_MEMBERS_MAX)
      throw argumentError('sessions', `A group has at most ${GROUP_MEMBERS_MAX} members.`)
    const others = (await readDependencies(tx, [id])).filter(({ condition }) => condition === 'SAME_INDEX')
    await insertMembers(tx, context, await withSameIndex(tx, others, wanted))
    await growGroup(tx, id, { by: wanted.length, isOpen: group.isOpen && close !== true })
    return wanted.length
  })
  context.wake.wake('schedule-sessions', 'settle-groups', 'events')
  return { groupId: id, added }
}

function closed({ id, outcome }: GroupRow): RepriseError {
  const why = outcome === null ? 'is closed' : `is decided: ${outcome}`
  return new RepriseError('GROUP_CLOSED', `group ${id} ${why}; create another one`)
}

/** Leaves out members that exist. Those without given indexes are numbered after the last one. */
async function newMembers(
  tx: Queryable,
  group: GroupRow,
  planned: readonly NewSession[],
  isNumbered: boolean,
): Promise<NewSession[]> {
  const known = await readByCreationId(tx, planned)
  const unknown = planned.filter(({ projectId, creationId }) => !known.has(`${projectId}/${creationId}`))
  if (!isNumbered) {
    const taken = await readMembers(
      tx,
      group.id,
      unknown.map(({ groupIndex }) => groupIndex!),
    )
    return unknown.filter(({ groupIndex }) => !taken.has(groupIndex!))
  }
  const next = ((await readLastIndex(tx, group.id)) ?? -1) + 1
  return unknown.map((session, at) => ({ ...session, groupIndex: next + at }))
}

/** @throws RepriseError */
async function insertMembers(
  tx: Queryable,
  { viewer }: ServiceContext,
  sessions: readonly NewSession[],
): Promise<void> {
  for (let at = 0; at < sessions.length; at += CREATE_SESSIONS_MAX) {
    const some = sessions.slice(at, at + CREATE_SESSIONS_MAX)
    const options = { actor: actorOf(viewer), transact: <T>(work: (inner: Queryable) => Promise<T>) => work(tx) }
    const { inserted, refused } = await addSessions(tx, some, options)
    for (const session of some) {
      if (inserted.has(session.id)) continue
      const message = `the creation id ${session.creationId} belongs to another session`
      throw refused.get(session.id) ?? new RepriseError('CREATION_ID_REUSED', message)
    }
  }
}

interface Member {
  value: ParsedCreateSession
  index: number
}

/**
 * Parses the sessions. With indexes there is one for each, or one for all.
 *
 * @param issues faults that were found before, which are reported together with those of the sessions
 * @throws RepriseError VALIDATION_FAILED
 */
async function parseMembers(
  context: ServiceContext,
  {
    sessions,
    indexes,
    path: place = 'indexes',
  }: { sessions: readonly CreateSessionInput[]; indexes: string | null; path?: string },
  issues: ValidationIssue[] = [],
): Promise<Member[]> {
  if (sessions.length > CREATE_SESSIONS_MAX)
    throw argumentError('sessions', `At most ${CREATE_SESSIONS_MAX} sessions in one call.`)
  const values = (await fillProjects(context, sessions)).map((session, at) => {
    if (session instanceof RepriseError) throw session
    const parsed = parseCreateSession(session)
    if ('value' in parsed) return parsed.value
    issues.push(...issuesUnder(`sessions.${at}`, parsed.issues))
    return null
  })
  const isLong = (indexes?.length ?? 0) > GROUP_INDEXES_LENGTH_MAX
  if (isLong) throw argumentError(place, `At most ${GROUP_INDEXES_LENGTH_MAX} characters.`)
  const numbers = indexes === null ? null : parseIndexes(indexes, GROUP_MEMBERS_PER_CALL_MAX)
  if (typeof numbers === 'string') issues.push({ path: place, message: numbers })
  const all = values.filter((value) => value !== null)
  const fault = (path: string, message: string) => issues.push({ path, message })
  if (new Set(all.map(({ project }) => project)).size > 1) fault('sessions', 'must all be in one project')
  if (all.some(({ sessionType }) => sessionType !== 'BATCH')) fault('sessions', 'must all be BATCH sessions')
  if (Array.isArray(numbers) && sessions.length !== numbers.length) {
    if (sessions.length !== 1) fault('sessions', 'must be one session for all indexes, or one for each')
    if (all[0]?.creationId != null) fault('sessions.0.creationId', 'must be missing if the session is for all indexes')
  }
  if (issues.length > 0) throw inputError(issues)
  if (!Array.isArray(numbers)) return all.map((value, index) => ({ value, index }))
  return numbers.map((index, at) => ({ value: all.length === 1 ? all[0]! : all[at]!, index }))
}

/** @throws RepriseError */
async function planMembers(
  context: ServiceContext,
  members: readonly Member[],
  { groupId, maxRunning }: { groupId: string; maxRunning: number | null },
): Promise<NewSession[]> {
  const values = [...new Set(members.map(({ value }) => value))]
  if (maxRunning !== null && values.some(({ concurrencyKey }) => concurrencyKey != null))
    throw argumentError(
      'group.maxRunning',
      'Members with a `concurrencyKey` cannot have the limit of their group, too.',
    )
  const scope = await readPlanScope(context, values)
  return mapInTurns(members, ({ value, index }) => {
    const planned = planFirstAttempt(value, scope, context)
    if (planned instanceof RepriseError) throw planned
    const limit = maxRunning === null ? {} : { concurrencyKey: `group ${groupId}`, concurrencyLimit: maxRunning }
    return { ...planned, groupId, groupIndex: index, ...limit }
  })
}

/** Parses the group, and adds its faults to the issues. @returns undefined if there are any */
function parseGroup(input: GroupInput, issues: ValidationIssue[]): ParsedGroup | undefined {
  const parsed = groupSchema.safeParse(input)
  if (!parsed.success) issues.push(...issuesUnder('group', issuesOf(parsed.error)))
  return parsed.data
}

/** Fingerprint of the input; secrets are left out, so a repetition may have others. */
function digestOf(group: ParsedGroup, members: readonly Member[]): string {
  const digests = new Map<ParsedCreateSession, string>()
  for (const { value } of members) {
    if (!digests.has(value)) digests.set(value, inputDigest({ ...value, secretEnviron: [] } as ParsedCreateSession, []))
  }
  const all = members.map(({ value, index }) => [index, digests.get(value)])
  return createHash('sha256')
    .update(canonicalJson({ ...group, members: all }))
    .digest('base64url')
}

const cancelSchema = z.object({
  reason: z.string().min(1).max(REASON_LENGTH_MAX).refine(isStorableText, STORABLE_TEXT).nullish(),
})

/**
 * Cancels a group: its members are ended, and the group then, as CANCELLED.
 *
 * @throws RepriseError GROUP_NOT_FOUND, GROUP_CLOSED, FORBIDDEN, VALIDATION_FAILED
 */
export async function cancelSessionGroup(
  context: ServiceContext,
  { groupId, reason }: { groupId: string; reason?: string | null },
): Promise<{ groupId: string }> {
  const { viewer } = context
  assertMayChange(viewer)
  parseInput(cancelSchema, { reason })
  await requireGroup(context, groupId)
  await assertMayEnd(context, 'group', groupId)
  await context.db.transaction(async (tx) => {
    const group = await lockGroup(tx, groupId, viewer.projectId)
    if (group === undefined) throw groupNotFound(groupId)
    if (group.endedAt !== null) throw closed(group)
    await cancelGroup(tx, groupId, viewer.name)
    const details = { groupId, name: group.name }
    await recordAudit(tx, {
      actor: actorOf(viewer, reason),
      action: 'group.cancel',
      projectId: group.projectId,
      details,
    })
  })
  context.wake.wake('settle-groups')
  return { groupId }
}
