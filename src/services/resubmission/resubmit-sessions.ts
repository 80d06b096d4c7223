import { validate } from 'uuid'
import { newId } from '../../store/new-id.ts'
import { z } from 'zod'
import { LEASE } from '../../domain/agent/lease.ts'
import { RepriseError, type ValidationIssue } from '../../domain/errors.ts'
import {
  RESUBMISSION_SESSIONS_MAX,
  RESUBMIT_BATCH_SESSIONS_MAX,
  SESSION_IDS_PER_READ_MAX,
} from '../../domain/limits.ts'
import { type Dependent, dependentsInSteps, type ResubmissionOverrides } from '../../domain/resubmission.ts'
import type { SessionAction } from '../../domain/session/session-spec.ts'
import type { SyncPoints } from '../../observability/sync-points.ts'
import type { Queryable } from '../../store/database.ts'
import type { PrismaClient, SessionWhere } from '../../store/prisma.ts'
import { readAgentGroups } from '../../store/sql/agent/agents.sql.ts'
import { readCancelledDependents } from '../../store/sql/resubmission/read-resubmission.sql.ts'
import {
  findResubmissionByKey,
  type NewResubmission,
  openResubmission,
} from '../../store/sql/resubmission/open-resubmission.sql.ts'
import type { TerminationOptions } from '../../store/sql/resubmission/open-resubmission.sql.ts'
import { readGroupScopes } from '../../store/sql/session/creation-scope.sql.ts'
import { settleItems } from '../../store/sql/resubmission/resubmission-batch.sql.ts'
import { actorOf, assertMayChange, refuseForeignWork } from '../access/authorize.ts'
import { withDemands } from '../chain.ts'
import { listChainTails } from '../../store/sql/chain/list-chains.sql.ts'
import { projectScope } from '../access/tenants.ts'
import { issuesOf, refuseInput } from '../input/parse-input.ts'
import { mayBeName } from '../input/input-fields.ts'
import type { ServiceContext } from '../service-context.ts'
import { requireGroup } from '../session/read-groups.ts'
import { sealEnviron } from '../session/plan-attempt.ts'
import { sessionWhere } from '../session/session-where.ts'
import { auditedOverrides } from '../session/session-fields.ts'
import { reportBatch } from './resubmissions.ts'
import {
  type BulkInput,
  type BulkRequest,
  parseBulk,
  type ParsedResubmission,
  parseResubmission,
  requestHash,
  type ResubmitSessionsInput,
  statedFilter,
} from './resubmission-input.ts'
import { type BatchOutcome, runBatch } from './act-on-batch.ts'
import { type DryRun, tryOut } from './try-out.ts'

export interface ResubmitContext extends ServiceContext {
  prisma: PrismaClient
  sync: SyncPoints
}

/** The resubmission that was begun, or the result of a dry run. */
export type BulkAnswer = { resubmissionId: string } | { dryRun: DryRun }

/**
 * Gives failed sessions, and on request those that succeeded, new retry budgets: each gets a child in a new epoch. Up
 * to RESUBMIT_BATCH_SESSIONS_MAX are resubmitted before this returns, all or none of them; the others follow in the
 * background, on any server. Repeating a client key returns the first call's resubmission.
 * @throws RepriseError VALIDATION_FAILED, CLIENT_KEY_REUSED, FORBIDDEN
 */
export async function resubmitSessions(context: ResubmitContext, input: ResubmitSessionsInput): Promise<BulkAnswer> {
  assertMayChange(context.viewer)
  const parsed = sealed(context, await parse(context, input))
  return begin(context, parsed, auditedOverrides(parsed.overrides), input.dryRun)
}

/** The states of members that a resubmission of their group selects. */
export const RESUBMITTED_MEMBER_STATES = ['FAILED', 'CANCELLED', 'SUCCEEDED'] as const

export interface ResubmitGroupInput {
  groupId: string
  /** States of the members that are resubmitted; missing means those that failed or were cancelled. */
  states?: readonly (typeof RESUBMITTED_MEMBER_STATES)[number][] | null
  overrides?: object | null
  clientKey?: string | null
}

/**
 * Resubmits the members of a group that are in these states, as `resubmitSessions` does. A group that had ended runs
 * again.
 * @throws RepriseError GROUP_NOT_FOUND, VALIDATION_FAILED, CLIENT_KEY_REUSED, FORBIDDEN
 */
export async function resubmitSessionGroup(
  context: ResubmitContext,
  { groupId, states, overrides = null, clientKey = null }: ResubmitGroupInput,
): Promise<{ resubmissionId: string; groupId: string }> {
  assertMayChange(context.viewer)
  const id = groupId.toLowerCase()
  const given = memberStates.safeParse({ states: states ?? ['FAILED', 'CANCELLED'] })
  const wanted = given.data?.states ?? []
  const chainFilter = { given: { group: id, state: wanted }, conditions: { groupId: id, states: wanted } }
  const input = { chainFilter, overrides, clientKey, includeSucceeded: wanted.includes('SUCCEEDED') }
  const parsed = sealed(context, await parse(context, input, given.error ? issuesOf(given.error) : []))
  await requireGroup(context, id)
  const answer = await begin(context, parsed, auditedOverrides(parsed.overrides), false)
  if ('dryRun' in answer) throw new Error('nobody asked for a dry run')
  return { ...answer, groupId: id }
}

const memberStates = z.object({
  states: z
    .array(z.enum(RESUBMITTED_MEMBER_STATES))
    .min(1)
    .transform((states) => [...new Set(states)].toSorted()),
})

/**
 * Terminates many sessions, cancels their retries, or makes the retries due. Each session is treated by the rules of
 * the mutation for one session, and the batches work as in `resubmitSessions`.
 * @throws RepriseError VALIDATION_FAILED, CLIENT_KEY_REUSED, FORBIDDEN
 */
export async function actOnSessions(
  context: ResubmitContext,
  action: Exclude<SessionAction, 'RESUBMIT'>,
  input: BulkInput,
): Promise<BulkAnswer> {
  assertMayChange(context.viewer)
  const parsed = parseBulk(action, input)
  if ('issues' in parsed) return refuseInput(parsed.issues)
  return begin(context, parsed.value, parsed.value.overrides, input.dryRun)
}

async function begin(
  context: ResubmitContext,
  request: BulkRequest,
  audited: object,
  dryRun: boolean | null | undefined,
): Promise<BulkAnswer> {
  const { db, viewer, wake } = context
  if (dryRun) {
    const named = await selected(context, request)
    return { dryRun: await tryOut(context, request, named, await dependentSteps(context, request, named)) }
  }
  const clientKey = request.clientKey ?? newId()
  const hash = requestHash(request)
  const known = await findResubmissionByKey(db, viewer.projectId, clientKey)
  if (known) return answerKnown(clientKey, hash, known)
  const named = await selected(context, request)
  const dependents = request.includeDependents ? await dependentSteps(context, request, named) : []
  const sessionIds = [...named, ...dependents.flat().map(({ id }) => id)]
  const record: NewResubmission = {
    id: newId(),
    projectId: viewer.projectId,
    clientKey,
    requestHash: hash,
    actor: viewer.name,
    action: request.action,
    auditedActor: actorOf(viewer),
    filter: statedFilter(request),
    overrides: request.overrides,
    includeSucceeded: request.includeSucceeded,
    dependentsFrom: request.includeDependents ? named.length : null,
    auditedOverrides: audited,
    sessionIds,
    repeated: repeatedPositions(sessionIds),
  }
  const outcome = await open(context, record)
  if (outcome === 'known') {
    return answerKnown(clientKey, hash, (await findResubmissionByKey(db, viewer.projectId, clientKey))!)
  }
  if (outcome !== 'later') reportBatch(context, record.id, outcome)
  wake.wake('resubmit-sessions', 'events')
  return { resubmissionId: record.id }
}

/** Writes the record and, for few sessions, processes them in the same transaction. */
async function open(context: ResubmitContext, record: NewResubmission): Promise<BatchOutcome | 'known' | 'later'> {
  const { log, sync } = context
  return context.db.transaction(async (tx) => {
    if (!(await openResubmission(tx, record))) return 'known'
    const refused = await refuseForeign(tx, context, record)
    const left = record.sessionIds.length - record.repeated.length - refused
    if (left === 0 || left > RESUBMIT_BATCH_SESSIONS_MAX) return 'later'
    const held = {
      ...record,
      overrides: record.overrides as ResubmissionOverrides,
      options: record.overrides as TerminationOptions,
    }
    return runBatch(tx, { log, sync, fenceMarginMs: LEASE.fenceMarginMs }, held)
  })
}

/**
 * Refuses at once the sessions of others that the viewer may not end: batches that run in the background do not know
 * the viewer. Returns how many.
 */
async function refuseForeign(
  tx: Queryable,
  { viewer }: ResubmitContext,
  { id, action, sessionIds, repeated }: NewResubmission,
): Promise<number> {
  if (action !== 'TERMINATE' && action !== 'CANCEL_RETRY') return 0
  const foreign = await refuseForeignWork({ db: tx, viewer }, 'session', sessionIds)
  const counted = new Set(repeated)
  const items = sessionIds.flatMap((sessionId, position) => {
    const refusal = counted.has(position) ? undefined : foreign.get(sessionId)
    if (!refusal) return []
    const { code, message } = refusal
    return [{ position, projectId: viewer.projectId, childSessionId: null, code, message }]
  })
  if (items.length > 0) await settleItems(tx, id, items)
  return items.length
}

function answerKnown(clientKey: string, hash: string, known: { id: string; requestHash: string }) {
  if (known.requestHash === hash) return { resubmissionId: known.id }
  const message = `the client key ${clientKey} belongs to a resubmission that asked for something else`
  throw new RepriseError('CLIENT_KEY_REUSED', message, [], { type: 'BulkAction', id: known.id })
}

function sealed(
  { secrets }: ResubmitContext,
  { overrides, ...rest }: ParsedResubmission,
): BulkRequest & { overrides: ResubmissionOverrides } {
  const { secretEnviron, ...given } = overrides
  const plain = { ...rest, action: 'RESUBMIT' as const }
  if (secretEnviron === undefined) return { ...plain, overrides: given }
  return { ...plain, overrides: { ...given, secretEnviron: sealEnviron(secrets, secretEnviron) } }
}

/** @param others issues that are reported together with those of the input */
async function parse(
  context: ResubmitContext,
  input: ResubmitSessionsInput,
  others: readonly ValidationIssue[] = [],
): Promise<ParsedResubmission> {
  const parsed = parseResubmission(input)
  const issues = [
    ...others,
    ...('issues' in parsed ? parsed.issues : []),
    ...(await overrideIssues(context.db, input.overrides ?? {})),
  ]
  if ('value' in parsed && issues.length === 0) return parsed.value
  return refuseInput(issues)
}

/** Selects the sessions in the order in which they are named, or oldest first. */
async function selected(context: ResubmitContext, { sessionIds, filter, chainFilter }: BulkRequest): Promise<string[]> {
  if (sessionIds) return sessionIds
  const { db, prisma, viewer } = context
  const limit = RESUBMISSION_SESSIONS_MAX + 1
  const conditions = chainFilter && (await withDemands(context, chainFilter.conditions))
  const ids = conditions
    ? await listChainTails(db, { conditions, visibleProjectId: viewer.projectId, limit })
    : await findSessionIds(prisma, { AND: [projectScope(viewer), sessionWhere(filter)] }, limit)
  if (ids.length <= RESUBMISSION_SESSIONS_MAX) return ids
  const message = `matches more than ${RESUBMISSION_SESSIONS_MAX} sessions; narrow it, for example by createdAt`
  return refuseInput([{ path: chainFilter ? 'chainFilter' : 'filter', message }])
}

/**
 * Finds the sessions that were cancelled because the chains of these sessions failed, in steps: each step comes after
 * those that it waits for.
 */
async function dependentSteps(
  { db, viewer }: ResubmitContext,
  { action, includeDependents }: BulkRequest,
  named: readonly string[],
): Promise<Dependent[][]> {
  if (action !== 'RESUBMIT') return []
  const limit = RESUBMISSION_SESSIONS_MAX + 1
  const dependents = await readCancelledDependents(db, named, viewer.projectId, limit)
  if (includeDependents && named.length + dependents.length > RESUBMISSION_SESSIONS_MAX) {
    const message = `more than ${RESUBMISSION_SESSIONS_MAX} sessions with their dependents; name fewer`
    return refuseInput([{ path: 'includeDependents', message }])
  }
  return dependentsInSteps(dependents)
}

function repeatedPositions(sessionIds: readonly string[]): number[] {
  const seen = new Set<string>()
  return sessionIds.flatMap((id, position) => {
    if (seen.has(id)) return [position]
    seen.add(id)
    return []
  })
}

/** Finds faults of overrides that only the database can reveal, even if the overrides have other faults. */
async function overrideIssues(db: Queryable, overrides: object): Promise<ValidationIssue[]> {
  const { resourceGroup, allowAgents, avoidAgents, excludeAgents } = overrides as Record<string, unknown>
  const group = typeof resourceGroup === 'string' && mayBeName(resourceGroup) ? resourceGroup : null
  const lists = {
    allowAgents: idsOf(allowAgents),
    avoidAgents: idsOf(avoidAgents),
    excludeAgents: idsOf(excludeAgents),
  }
  const [groups, agents] = await Promise.all([
    readGroupScopes(db, group === null ? [] : [group]),
    readAgentGroups(
      db,
      Object.values(lists).flatMap((list) => list.map(({ id }) => id)),
    ),
  ])
  const issues: ValidationIssue[] = []
  if (group !== null && !groups.get(group)?.allowed.includes('BATCH')) {
    const message = groups.has(group) ? `resource group ${group} takes no batch sessions` : `no resource group ${group}`
    issues.push({ path: 'overrides.resourceGroup', message })
  }
  for (const [name, list] of Object.entries(lists)) {
    for (const { id, index } of list) {
      const where = agents.get(id)
      const path = `overrides.${name}.${index}`
      if (where === undefined) issues.push({ path, message: `no agent ${id}` })
      else if (name === 'allowAgents' && group !== null && where !== group) {
        issues.push({ path, message: `agent ${id} is in the resource group ${where}, not in ${group}` })
      }
    }
  }
  return issues
}

function idsOf(list: unknown): { id: string; index: number }[] {
  if (!Array.isArray(list)) return []
  return list.flatMap((id: unknown, index) =>
    typeof id === 'string' && validate(id) ? [{ id: id.toLowerCase(), index }] : [],
  )
}

/** Reads ids of sessions, oldest first, in bounded reads; at most `limit`. */
async function findSessionIds(prisma: PrismaClient, where: SessionWhere, limit: number): Promise<string[]> {
  const ids: string[] = []
  for (;;) {
    const take = Math.min(SESSION_IDS_PER_READ_MAX, limit - ids.length)
    const after = ids.at(-1)
    const rows = await prisma.session.findMany({
      where: after === undefined ? where : { AND: [where, { id: { gt: after } }] },
      orderBy: { id: 'asc' },
      take,
      select: { id: true },
    })
    for (const { id } of rows) ids.push(id)
    if (rows.length < take || ids.length === limit) return ids
  }
}
