import { RepriseError } from '../../domain/errors.ts'
import { COUNTED_ROWS_MAX, TRIAL_SPAN_DEFAULT_MS, TRIED_SESSIONS_MAX } from '../../domain/limits.ts'
import { isStorableMoment, STORABLE_MOMENT } from '../../domain/storable-text.ts'
import type { FailureCause } from '../../domain/session/failure.ts'
import { parseRetryPolicy, showStoredPolicy } from '../../domain/retry/policy/stored-policy.ts'
import {
  countTried,
  type PlannedRetry,
  previewRetries as planPreview,
  type RetryPreview,
  type TriedCount,
  type TriedSession,
  trySession,
} from '../../domain/retry/preview.ts'
import type { RetryPolicy } from '../../domain/retry/policy/policy.ts'
import { readPreviewSource } from '../../store/sql/retry/retry-defaults.sql.ts'
import { readFinished, type TriedSource } from '../../store/sql/retry/claim-undecided.sql.ts'
import { readNow } from '../../store/sql/server.sql.ts'
import { readProjectScopes } from '../../store/sql/session/creation-scope.sql.ts'
import { fillProjects, projectNotFound, projectScope } from '../access/tenants.ts'
import { resolveInProject } from '../session/plan-attempt.ts'
import { type ReadContext, requireSessionId } from '../session/read-sessions.ts'
import { type SessionFilterInput, sessionWhere } from '../session/session-where.ts'
import type { ServiceContext } from '../service-context.ts'
import { argumentError, issuesUnder, refuseInput } from '../input/parse-input.ts'
import {
  type AirflowExplanation,
  type AirflowRetry,
  convertAirflowSettings,
  parseAirflowSettings,
  planAirflowRetries,
} from '../../domain/retry/airflow.ts'
import { overlayPolicy, type ResolvedPolicy, resolvePolicy } from '../../domain/retry/policy/resolve-policy.ts'

export interface PreviewRetriesInput {
  /** Missing fields come from the session, or from the defaults of the project. */
  policy: object
  cause?: FailureCause | null
  exitCode?: number | null
  /** Plans the further retries of this session; if missing, those of a first attempt. */
  sessionId?: string | null
  /** The project of the first attempt. If missing: the one that a new session would get, or `default`. */
  project?: string | null
}

export interface RetryPolicyPreview extends RetryPreview {
  resolved: ResolvedPolicy
}

/**
 * Plans the retries that a policy would give, without creating anything.
 * @throws RepriseError VALIDATION_FAILED, SESSION_NOT_FOUND, PROJECT_NOT_FOUND
 */
export async function previewRetries(context: ServiceContext, input: PreviewRetriesInput): Promise<RetryPolicyPreview> {
  const parsed = parseRetryPolicy(input.policy)
  if ('issues' in parsed) return refuseInput(issuesUnder('policy', parsed.issues))
  const session = input.sessionId ? await findSession(context, input.sessionId) : null
  const resolved =
    session === null
      ? await resolveNew(context, parsed.policy, input.project)
      : overlayPolicy(showStoredPolicy(session.retryPolicy, session.retryPolicySources), parsed.policy)
  const { cause = null, exitCode = null } = input
  return { resolved, ...planPreview({ policy: resolved.policy, cause, exitCode, session }) }
}

/** Resolves a policy as for a new session. */
async function resolveNew(
  context: ServiceContext,
  policy: Partial<RetryPolicy>,
  named: string | null | undefined,
): Promise<ResolvedPolicy> {
  const { db, viewer } = context
  const [own] = await fillProjects(context, [{ project: named }])
  // A member of several projects who names none gets an error only when a session is created.
  const name = (own instanceof RepriseError ? null : own!.project) ?? 'default'
  const project = (await readProjectScopes(db, [name], viewer.projectId)).get(name)
  if (!project && named != null) throw await projectNotFound({ db, viewer }, name)
  if (!project) return resolvePolicy([{ source: 'SESSION', policy }])
  return resolveInProject(policy, project)
}

/** The finished sessions on which a policy is tried. */
export interface TryPolicyInput {
  policy: object
  /** These sessions; if missing, those of the filter. */
  sessionIds?: readonly string[] | null
  filter?: SessionFilterInput | null
  /** When they ended; the last seven days if missing. */
  window?: { from?: Date | null; to?: Date | null } | null
}

export interface PolicyTrial {
  /** Number of failed sessions that match, counted up to COUNTED_ROWS_MAX; those that ended last have been tried. */
  matched: number
  tried: number
  counts: TriedCount[]
  decisions: (TriedSession & TriedName)[]
}

type TriedName = Pick<
  TriedSource,
  'id' | 'chainId' | 'name' | 'projectName' | 'attempt' | 'terminatedAt' | 'recordedPhase'
>

/**
 * Decides about finished sessions as if they had been created with this policy, over the defaults of their projects.
 * Nothing is changed.
 * @throws RepriseError VALIDATION_FAILED, SESSION_NOT_FOUND
 */
export async function tryPolicy(context: ReadContext, input: TryPolicyInput): Promise<PolicyTrial> {
  const parsed = parseRetryPolicy(input.policy)
  if ('issues' in parsed) return refuseInput(issuesUnder('policy', parsed.issues))
  const { db, viewer } = context
  const { ids, matched } = input.sessionIds ? namedSessions(input) : await failedSessions(context, input)
  const sessions = await readFinished(db, ids, viewer.projectId)
  if (input.sessionIds) requireAll(ids, sessions)
  const names = [...new Set(sessions.map(({ projectName }) => projectName))]
  const scopes = await readProjectScopes(db, names, viewer.projectId)
  const policies = new Map([...scopes].map(([name, scope]) => [name, resolveInProject(parsed.policy, scope).policy]))
  const alone = resolvePolicy([{ source: 'SESSION', policy: parsed.policy }]).policy
  const decisions = sessions.map((session) => {
    const { id, chainId, name, projectName, attempt, terminatedAt, recordedPhase } = session
    const tried = trySession(session, policies.get(projectName) ?? alone)
    return { id, chainId, name, projectName, attempt, terminatedAt, recordedPhase, ...tried }
  })
  return { matched, tried: decisions.length, counts: countTried(decisions), decisions }
}

interface ChosenSessions {
  ids: readonly string[]
  matched: number
}

function namedSessions({ sessionIds, filter, window }: TryPolicyInput): ChosenSessions {
  if (filter || window) throw argumentError('sessionIds', 'Cannot be given together with `filter` or `window`')
  const ids = [...new Set(sessionIds!.map((id) => id.toLowerCase()))]
  if (ids.length > TRIED_SESSIONS_MAX) throw argumentError('sessionIds', `At most ${TRIED_SESSIONS_MAX} sessions`)
  return { ids, matched: ids.length }
}

/** @throws RepriseError SESSION_NOT_FOUND: the session is not visible, has not ended, or is no batch session */
function requireAll(ids: readonly string[], found: readonly TriedSource[]): void {
  const known = new Set(found.map(({ id }) => id))
  const missing = ids.find((id) => !known.has(id))
  if (missing !== undefined) throw new RepriseError('SESSION_NOT_FOUND', `no finished batch session ${missing}`)
}

/** Finds the batch sessions that failed within the window, newest end first. Index: sessions_over. */
async function failedSessions(
  { db, prisma, viewer }: ReadContext,
  { filter, window }: TryPolicyInput,
): Promise<ChosenSessions> {
  const to = window?.to ?? (await readNow(db))
  const from = window?.from ?? new Date(to.getTime() - TRIAL_SPAN_DEFAULT_MS)
  if (from >= to) throw argumentError('window', '`from` must be before `to`')
  if (![from, to].every(isStorableMoment)) throw argumentError('window', STORABLE_MOMENT)
  const failed: SessionFilterInput = {
    sessionType: ['BATCH'],
    result: ['FAILURE'],
    terminatedAt: { gte: from, lt: to },
  }
  const where = { AND: [projectScope(viewer), sessionWhere(filter), sessionWhere(failed)] }
  const newest = { orderBy: [{ terminatedAt: 'desc' as const }, { id: 'desc' as const }], select: { id: true } }
  const rows = await prisma.session.findMany({ where, ...newest, take: TRIED_SESSIONS_MAX })
  const matched =
    rows.length < TRIED_SESSIONS_MAX ? rows.length : await prisma.session.count({ where, take: COUNTED_ROWS_MAX })
  return { ids: rows.map(({ id }) => id), matched }
}

export interface AirflowPolicyPreview {
  /** Fields that the settings do not determine have the shipped defaults. */
  resolved: ResolvedPolicy
  explanation: AirflowExplanation
  airflowDelays: AirflowRetry[]
  schedule: PlannedRetry[]
}

/**
 * Computes the policy equivalent to an Airflow operator's settings, with both schedules side by side.
 * @throws RepriseError VALIDATION_FAILED
 */
export function previewAirflowPolicy(input: object): AirflowPolicyPreview {
  const parsed = parseAirflowSettings(input)
  if ('issues' in parsed) return refuseInput(issuesUnder('settings', parsed.issues))
  const { policy, explanation } = convertAirflowSettings(parsed.settings)
  const resolved = resolvePolicy([{ source: 'SESSION', policy }])
  return {
    resolved,
    explanation,
    airflowDelays: planAirflowRetries(parsed.settings, parsed.task),
    schedule: planPreview({ policy: resolved.policy, cause: null, exitCode: null, session: null }).schedule,
  }
}

async function findSession({ db, viewer }: ServiceContext, sessionId: string) {
  requireSessionId(sessionId)
  const session = await readPreviewSource(db, sessionId, viewer.projectId)
  if (!session) throw new RepriseError('SESSION_NOT_FOUND', `no session ${sessionId}`)
  return session
}
