import type { Client } from 'urql'
import type { RetryPolicyInput } from '../../client/schema-types.generated.ts'
import { problemOf } from '../api/problem.ts'
import { placeIssues } from './place-issues.ts'
import { FAILURE_FIELDS, POLICY_FIELDS, type Draft, type Field } from './policy-fields.ts'
import {
  UiPolicyPreviewDocument,
  type UiPolicyPreviewQuery,
  type UiPolicyPreviewQueryVariables,
} from './preview.generated.ts'
import { readDraft } from './read-draft.ts'

type PolicyPreview = UiPolicyPreviewQuery['retryPolicyPreview']
export type Planned = PolicyPreview['schedule'][number]

/** What cannot be drawn: what is wrong by names of fields, and what is wrong with no field. */
export interface Refused {
  faults: Readonly<Record<string, string>>
  error?: Error
}

/** It is asked for as often as somebody types; nothing else has to keep it. */
export const FRESH = { requestPolicy: 'network-only' } as const

/** What the server says that a typed policy would do, for the failure that is typed with it. */
export async function readPreview(
  client: Client,
  draft: Draft,
): Promise<{ policy: object; preview: PolicyPreview } | Refused> {
  const given = readDraft(draft, POLICY_FIELDS)
  const failure = readDraft(draft, FAILURE_FIELDS)
  const faults = { ...given.faults, ...failure.faults }
  if (Object.keys(faults).length > 0) return { faults }
  const variables = { policy: given.input as RetryPolicyInput, ...failure.input } as UiPolicyPreviewQueryVariables
  const { data, error } = await client.query(UiPolicyPreviewDocument, variables, FRESH).toPromise()
  if (!data) return refusedAt(error!, [...POLICY_FIELDS, ...FAILURE_FIELDS])
  return { policy: given.input, preview: data.retryPolicyPreview }
}

export function refusedAt(error: Error, fields: readonly Field[]): Refused {
  const { issues, message, code } = problemOf(error)
  const placed = placeIssues(issues, message, fields)
  const isAboutInput = code === 'VALIDATION_FAILED' || Object.keys(placed.faults).length > 0
  return { faults: placed.faults, ...((!isAboutInput || placed.rest !== null) && { error }) }
}
