import { RepriseError } from '../../domain/errors.ts'
import type { FailureCause } from '../../domain/session/failure.ts'
import { parseRetryPolicy, readStoredPolicy } from '../../domain/retry/policy/stored-policy.ts'
import { type PlannedRetry, previewRetries as planPreview, type RetryPreview } from '../../domain/retry/preview.ts'
import { SHIPPED_POLICY } from '../../domain/retry/policy/policy.ts'
import { readPreviewSource } from '../../store/sql/retry/retry-defaults.sql.ts'
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
import { type ResolvedPolicy, resolvePolicy } from '../../domain/retry/policy/resolve-policy.ts'

export interface PreviewRetriesInput {
  /** Missing fields come from the session, or from the shipped defaults. */
  policy: object
  cause?: FailureCause | null
  exitCode?: number | null
  /** Plans the further retries of this session; if missing, those of a first attempt. */
  sessionId?: string | null
}

/**
 * Plans the retries that a policy would give, without creating anything.
 * @throws RepriseError VALIDATION_FAILED, SESSION_NOT_FOUND
 */
export async function previewRetries(context: ServiceContext, input: PreviewRetriesInput): Promise<RetryPreview> {
  const parsed = parseRetryPolicy(input.policy)
  if ('issues' in parsed) return refuseInput(issuesUnder('policy', parsed.issues))
  const session = input.sessionId ? await findSession(context, input.sessionId) : null
  const stored = session === null ? SHIPPED_POLICY : readStoredPolicy(session.retryPolicy)
  const base = typeof stored === 'string' ? SHIPPED_POLICY : stored
  return planPreview({
    policy: { ...base, ...parsed.policy },
    cause: input.cause ?? null,
    exitCode: input.exitCode ?? null,
    session,
  })
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
