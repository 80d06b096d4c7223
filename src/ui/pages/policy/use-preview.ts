import { useEffect, useEffectEvent, useState } from 'react'
import { useClient, type Client } from 'urql'
import type { AirflowSettingsInput } from '../../../client/schema-types.generated.ts'
import type { Draft } from '../../policy/policy-fields.ts'
import { readDraft } from '../../policy/read-draft.ts'
import { FRESH, readPreview, refusedAt, type Planned } from '../../policy/read-preview.ts'
import { AIRFLOW_FIELDS } from './airflow-fields.ts'
import { UiAirflowPreviewDocument, type UiAirflowPreviewQuery } from './policy.generated.ts'

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
    if (isAirflow) return readAirflow(client, draft)
    const found = await readPreview(client, draft)
    if ('faults' in found) return found
    const { schedule, ...verdict } = found.preview
    return { preview: { policy: found.policy, draft, verdict, schedule, airflow: null } }
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

async function readAirflow(client: Client, draft: Draft): Promise<Partial<Answer>> {
  const { input, faults } = readDraft(draft, AIRFLOW_FIELDS)
  if (Object.keys(faults).length > 0) return { faults }
  const settings = input as AirflowSettingsInput
  const { data, error } = await client.query(UiAirflowPreviewDocument, { settings }, FRESH).toPromise()
  if (!data) return refusedAt(error!, AIRFLOW_FIELDS)
  const { policy, schedule } = data.airflowPolicyPreview
  return { preview: { policy: policyOf(policy), draft, verdict: null, schedule, airflow: data.airflowPolicyPreview } }
}

/** What Airflow's settings determine. */
function policyOf({ sources, ...policy }: UiAirflowPreviewQuery['airflowPolicyPreview']['policy']): object {
  const given = new Set(sources.filter(({ source }) => source === 'SESSION').map(({ field }) => field))
  return Object.fromEntries(Object.entries(policy).filter(([field]) => given.has(field)))
}
