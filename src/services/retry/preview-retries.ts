import { RepriseError } from '../../domain/errors.ts'
import type { FailureCause } from '../../domain/session/failure.ts'
import { parseRetryPolicy, showStoredPolicy } from '../../domain/retry/policy/stored-policy.ts'
import { type PlannedRetry, previewRetries as planPreview, type RetryPreview } from '../../domain/retry/preview.ts'
import type { RetryPolicy } from '../../domain/retry/policy/policy.ts'
import { readPreviewSource } from '../../store/sql/retry/retry-defaults.sql.ts'
import { readProjectScopes } from '../../store/sql/session/creation-scope.sql.ts'
import { fillProjects, projectNotFound } from '../access/tenants.ts'
import { resolveInProject } from '../session/plan-attempt.ts'
import { requireSessionId } from '../session/read-sessions.ts'
import type { ServiceContext } from '../service-context.ts'
import { issuesUnder, refuseInput } from '../input/parse-input.ts'
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
