import { useEffect, useEffectEvent, useState } from 'react'
import { useClient } from 'urql'
import { problemOf } from '../../api/problem.ts'
import { AIRFLOW_FIELDS, FAILURE_FIELDS, placeIssues, POLICY_FIELDS, readDraft, type Draft } from './policy-fields.ts'
import {
  UiAirflowPreviewDocument,
  UiPolicyPreviewDocument,
  type AirflowSettingsInput,
  type RetryPolicyInput,
  type UiAirflowPreviewQuery,
  type UiPolicyPreviewQuery,
  type UiPolicyPreviewQueryVariables,
} from './policy.generated.ts'

export type Planned = UiPolicyPreviewQuery['retryPolicyPreview']['schedule'][number]

/** What the server says that the typed policy would do. */
export interface Preview {
  /** As the API takes it. */
  policy: object
  draft: Draft
  verdict: { eligible: boolean; explanation: string } | null
  schedule: readonly Planned[]
  airflow: UiAirflowPreviewQuery['airflowPolicyPreview'] | null
}

interface Answer {
  /** The last one; it stays while something that is typed is wrong. */
  preview: Preview | null
  /** What is wrong, by names of fields, in the server's words. */
  faults: Readonly<Record<string, string>>
  /** What is wrong with no field. */
  error: unknown
}

/** Of what was typed at last, each time it changes. `draft` is to be the same object while nothing changes. */
export function usePreview(draft: Draft, isAirflow: boolean): Answer & { again: () => void } {
  const client = useClient()
  const [answer, setAnswer] = useState<Answer>({ preview: null, faults: {}, error: null })
  const [turn, setTurn] = useState(0)

  const read = async (): Promise<Partial<Answer>> => {
    const fields = isAirflow ? AIRFLOW_FIELDS : POLICY_FIELDS
    const given = readDraft(draft, fields)
    const failure = isAirflow ? { input: {}, faults: {} } : readDraft(draft, FAILURE_FIELDS)
    const faults = { ...given.faults, ...failure.faults }
    if (Object.keys(faults).length > 0) return { faults }
    const refusal = (error: Error) => {
      const { issues, message, code } = problemOf(error)
      const placed = placeIssues(issues, message, [...fields, ...FAILURE_FIELDS])
      const isAboutInput = code === 'VALIDATION_FAILED' || Object.keys(placed.faults).length > 0
      return { faults: placed.faults, ...((!isAboutInput || placed.rest !== null) && { error }) }
    }
    if (isAirflow) {
      const settings = given.input as AirflowSettingsInput
      const { data, error } = await client.query(UiAirflowPreviewDocument, { settings }, FRESH).toPromise()
      if (!data) return refusal(error!)
      const { policy, schedule } = data.airflowPolicyPreview
      return {
        preview: { policy: policyOf(policy), draft, verdict: null, schedule, airflow: data.airflowPolicyPreview },
      }
    }
    const variables = { policy: given.input as RetryPolicyInput, ...failure.input } as UiPolicyPreviewQueryVariables
    const { data, error } = await client.query(UiPolicyPreviewDocument, variables, FRESH).toPromise()
    if (!data) return refusal(error!)
    const { schedule, ...verdict } = data.retryPolicyPreview
    return { preview: { policy: given.input, draft, verdict, schedule, airflow: null } }
  }

  const start = useEffectEvent(async (isLeft: () => boolean) => {
    const found = await read()
    if (!isLeft()) setAnswer((last) => ({ preview: last.preview, faults: {}, error: null, ...found }))
  })
  useEffect(() => {
    let left = false
    void start(() => left)
    return () => {
      left = true
    }
  }, [draft, isAirflow, turn])
  return { ...answer, again: () => setTurn(turn + 1) }
}

/** The address keeps what was tried; nothing else has to. */
const FRESH = { requestPolicy: 'network-only' } as const

/** What Airflow's settings determine. */
function policyOf({ sources, ...policy }: UiAirflowPreviewQuery['airflowPolicyPreview']['policy']): object {
  const given = new Set(sources.filter(({ source }) => source === 'SESSION').map(({ field }) => field))
  return Object.fromEntries(Object.entries(policy).filter(([field]) => given.has(field)))
}
