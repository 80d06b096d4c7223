import { convertAirflowSettings, type AirflowExplanation } from '../../domain/retry/airflow/airflow-policy.ts'
import { planAirflowRetries, type AirflowRetry } from '../../domain/retry/airflow/airflow-schedule.ts'
import { parseAirflowSettings } from '../../domain/retry/airflow/airflow-settings.ts'
import { previewRetries, type PlannedRetry } from '../../domain/retry/preview.ts'
import { resolvePolicy, type ResolvedPolicy } from '../../domain/retry/policy/resolve-policy.ts'
import { issuesUnder, refuseInput } from '../input/parse-input.ts'

export interface AirflowPolicyPreview {
  /** Fields not determined by the settings have the built-in defaults. */
  resolved: ResolvedPolicy
  explanation: AirflowExplanation
  airflowDelays: AirflowRetry[]
  schedule: PlannedRetry[]
}

/**
 * The policy equivalent to an Airflow operator's settings, with both schedules side by side.
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
    schedule: previewRetries({ policy: resolved.policy, cause: null, exitCode: null, session: null }).schedule,
  }
}
