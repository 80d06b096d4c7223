import { v7 as uuidv7, validate } from 'uuid'
import { LEASE } from '../../domain/agent/lease.ts'
import { RepriseError, type ValidationIssue } from '../../domain/errors.ts'
import {
  RESUBMISSION_SESSIONS_MAX,
  RESUBMIT_BATCH_SESSIONS_MAX,
  SESSION_IDS_PER_READ_MAX,
} from '../../domain/limits.ts'
import type { SyncPoints } from '../../observability/sync-points.ts'
import type { Queryable } from '../../store/database.ts'
import type { PrismaClient, SessionWhere } from '../../store/prisma.ts'
import { readAgentGroups } from '../../store/sql/agent/read-agents.sql.ts'
import {
  findResubmissionByKey,
  openResubmission,
  type NewResubmission,
} from '../../store/sql/resubmission/open-resubmission.sql.ts'
import { readGroupTypes } from '../../store/sql/session/creation-scope.sql.ts'
import { actorOf } from '../access/actor.ts'
import { assertMayChange } from '../access/authorize.ts'
import { refuseInput } from '../input/parse-input.ts'
import { mayBeName } from '../input/text-input.ts'
import type { ServiceContext } from '../service-context.ts'
import { sealEnviron } from '../session/secret-environ.ts'
import { sessionWhere } from '../session/session-where.ts'
import { auditedOverrides } from '../session/shown-environ.ts'
import { reportResubmitted } from './report-resubmitted.ts'
import {
  parseResubmission,
  requestHash,
  statedFilter,
  type ParsedResubmission,
  type ResubmitSessionsInput,
  type SealedResubmission,
} from './resubmission-input.ts'
import { resubmitBatch, type BatchOutcome } from './resubmit-batch.ts'

export interface ResubmitContext extends ServiceContext {
  prisma: PrismaClient
  sync: SyncPoints
}

/**
 * Gives failed sessions, and on request those that succeeded, new retry budgets: each gets a child in a new epoch. Up to RESUBMIT_BATCH_SESSIONS_MAX are
 * resubmitted before this returns, all or none of them; the others follow in the background, on any server. Repeating a
 * key returns the first call's resubmission.
 * @throws RepriseError VALIDATION_FAILED, CLIENT_KEY_REUSED, FORBIDDEN
 */
export async function resubmitSessions(
  context: ResubmitContext,
  input: ResubmitSessionsInput,
): Promise<{ resubmissionId: string }> {
  const { db, viewer, wake } = context
  assertMayChange(viewer)
  const parsed = sealed(context, await parse(context, input))
  const clientKey = parsed.clientKey ?? uuidv7()
  const hash = requestHash(parsed)
  const known = await findResubmissionByKey(db, viewer.projectId, clientKey)
  if (known) return answerKnown(clientKey, hash, known)
  const sessionIds = parsed.sessionIds ?? (await selectByFilter(context, parsed))
  const record: NewResubmission = {
    id: uuidv7(),
    projectId: viewer.projectId,
    clientKey,
    requestHash: hash,
    actor: viewer.name,
    auditedActor: actorOf(viewer),
    filter: statedFilter(parsed.filter),
    overrides: parsed.overrides,
    includeSucceeded: parsed.includeSucceeded,
    auditedOverrides: auditedOverrides(parsed.overrides),
    sessionIds,
    repeated: repeatedPositions(sessionIds),
  }
  const outcome = await open(context, record)
  if (outcome === 'known') {
    return answerKnown(clientKey, hash, (await findResubmissionByKey(db, viewer.projectId, clientKey))!)
  }
  if (outcome !== 'later') reportResubmitted(context, record.id, outcome)
  wake.wake('resubmit-sessions', 'events')
  return { resubmissionId: record.id }
}

/** The record and, if there are few, its children, in one transaction. */
async function open(context: ResubmitContext, record: NewResubmission): Promise<BatchOutcome | 'known' | 'later'> {
  const { log, sync } = context
  return context.db.transaction(async (tx) => {
    if (!(await openResubmission(tx, record))) return 'known'
    const left = record.sessionIds.length - record.repeated.length
    if (left === 0 || left > RESUBMIT_BATCH_SESSIONS_MAX) return 'later'
    return resubmitBatch(tx, { log, sync, fenceMarginMs: LEASE.fenceMarginMs }, record)
  })
}

function answerKnown(clientKey: string, hash: string, known: { id: string; requestHash: string }) {
  if (known.requestHash === hash) return { resubmissionId: known.id }
  const message = `the client key ${clientKey} belongs to a resubmission that asked for something else`
  throw new RepriseError('CLIENT_KEY_REUSED', message)
}

function sealed({ secrets }: ResubmitContext, { overrides, ...rest }: ParsedResubmission): SealedResubmission {
  const { secretEnviron, ...given } = overrides
  if (secretEnviron === undefined) return { ...rest, overrides: given }
  return { ...rest, overrides: { ...given, secretEnviron: sealEnviron(secrets, secretEnviron) } }
}

async function parse(context: ResubmitContext, input: ResubmitSessionsInput): Promise<ParsedResubmission> {
  const parsed = parseResubmission(input)
  const issues = [
    ...('issues' in parsed ? parsed.issues : []),
    ...(await overrideIssues(context.db, input.overrides ?? {})),
  ]
  if ('value' in parsed && issues.length === 0) return parsed.value
  return refuseInput(issues)
}

async function selectByFilter({ prisma, viewer }: ResubmitContext, { filter }: SealedResubmission): Promise<string[]> {
  const own = viewer.projectId === null ? {} : { projectId: viewer.projectId }
  const ids = await findSessionIds(prisma, { AND: [own, sessionWhere(filter)] }, RESUBMISSION_SESSIONS_MAX + 1)
  if (ids.length <= RESUBMISSION_SESSIONS_MAX) return ids
  const message = `matches more than ${RESUBMISSION_SESSIONS_MAX} sessions; narrow it, for example by createdAt`
  return refuseInput([{ path: 'filter', message }])
}

function repeatedPositions(sessionIds: readonly string[]): number[] {
  const seen = new Set<string>()
  return sessionIds.flatMap((id, position) => {
    if (seen.has(id)) return [position]
    seen.add(id)
    return []
  })
}

/** Problems with overrides that only the database can reveal, even if they have other faults. */
async function overrideIssues(db: Queryable, overrides: object): Promise<ValidationIssue[]> {
  const { resourceGroup, allowAgents, avoidAgents, excludeAgents } = overrides as Record<string, unknown>
  const group = typeof resourceGroup === 'string' && mayBeName(resourceGroup) ? resourceGroup : null
  const lists = {
    allowAgents: idsOf(allowAgents),
    avoidAgents: idsOf(avoidAgents),
    excludeAgents: idsOf(excludeAgents),
  }
  const [groups, agents] = await Promise.all([
    readGroupTypes(db, group === null ? [] : [group]),
    readAgentGroups(
      db,
      Object.values(lists).flatMap((list) => list.map(({ id }) => id)),
    ),
  ])
  const issues: ValidationIssue[] = []
  if (group !== null && !groups.get(group)?.includes('BATCH')) {
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

/** Ids of sessions, oldest first, in bounded reads; at most `limit`. */
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
