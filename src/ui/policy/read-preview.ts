import type { Client } from 'urql'
import type { RetryPolicyInput } from '../../client/schema-types.generated.ts'
import { problemOf } from '../api/problem.ts'
import { readDraft } from './policy-draft.ts'
import { type Draft, FAILURE_FIELDS, type Field, POLICY_FIELDS } from './policy-fields.ts'
import {
  UiPolicyPreviewDocument,
  type UiPolicyPreviewQuery,
  type UiPolicyPreviewQueryVariables,
} from './policy.generated.ts'

type PolicyPreview = UiPolicyPreviewQuery['retryPolicyPreview']
export type Planned = PolicyPreview['schedule'][number]

/** The faults by field, and those that belong to no field. */
export interface Refused {
  faults: Readonly<Record<string, string>>
  error?: Error
}

/** A preview is read after each change of the draft; no other page uses it. */
export const FRESH = { requestPolicy: 'network-only' } as const

/** The server's preview of a typed policy over the defaults of a project, for the typed failure. */
export async function readPreview(
  client: Client,
  draft: Draft,
  project: string | undefined,
): Promise<{ policy: object; preview: PolicyPreview } | Refused> {
  const given = readDraft(draft, POLICY_FIELDS)
  const failure = readDraft(draft, FAILURE_FIELDS)
  const faults = { ...given.faults, ...failure.faults }
  if (Object.keys(faults).length > 0) return { faults }
  const input = { policy: given.input as RetryPolicyInput, ...failure.input }
  const variables = { ...input, ...(project !== undefined && { project }) } as UiPolicyPreviewQueryVariables
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

/** The server's faults, each at its field; the rest belongs to no field. */
export function placeIssues(
  issues: readonly { path: string; message: string }[],
  message: string,
  fields: readonly Field[],
): { faults: Record<string, string>; rest: string | null } {
  // A value of the wrong type is refused before the input is validated; its place is part of the message.
  const [, place, sentence] = /at "(.+?)"; (.+)$/.exec(message) ?? []
  const placed = issues.length > 0 || place === undefined ? issues : [{ path: place, message: sentence! }]
  const faults: Record<string, string> = {}
  const rest: string[] = []
  for (const issue of placed) {
    const [first, ...names] = issue.path.split('.')
    const within = names.length === 0 ? [first!] : names
    const field = fields.find(({ path }) => path === within[0])
    const [, ...deeper] = within
    const words = deeper.length === 0 ? issue.message : `${deeper.join('.')}: ${issue.message}`
    if (field) faults[field.name] = [faults[field.name], words].filter(Boolean).join('; ')
    else rest.push(`${issue.path}: ${issue.message}`)
  }
  return { faults, rest: placed.length === 0 ? message : rest.join('; ') || null }
}
