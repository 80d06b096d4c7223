import { z } from '@hono/zod-openapi'
import { RepriseError } from '../domain/errors.ts'
import { SESSION_ACTIONS, type SessionAction } from '../domain/session/session-spec.ts'
import type { ChainSelectionInput, ResubmitSessionsInput } from '../services/resubmission/resubmission-input.ts'
import type { SessionFilterInput } from '../services/session/session-where.ts'
import { refuseInput } from '../services/input/parse-input.ts'
import { CHAIN_FILTER, chainConditions } from './chain.routes.ts'
import { component, type JsonSchema } from './openapi.ts'
import { writtenInput } from './json-body.ts'
import { SESSION_FILTER, sessionFilter } from './session.input.ts'

const OVERRIDES: JsonSchema = {
  type: 'object',
  description:
    'How the new attempts differ: `resource_slots`, `batch_timeout` (null removes it), `environ`, `secret_environ`, `code_sha256`, `priority`, `resource_group`, `allow_agents`, `avoid_agents`, `exclude_agents`, `retry_policy`, `fresh_checkpoint` (true: begins with an empty directory). What is not named stays.',
}
const CLIENT_KEY: JsonSchema = {
  type: ['string', 'null'],
  description: 'Idempotency key: the same one, with the same request, answers with the first resubmission.',
}
const INCLUDE_DEPENDENTS: JsonSchema = {
  type: ['boolean', 'null'],
  description: 'Also resubmits what was cancelled because of it.',
}
const INCLUDE_SUCCEEDED: JsonSchema = {
  type: ['boolean', 'null'],
  description: 'Runs sessions again that succeeded; otherwise they are refused.',
}

export const RESUBMISSION_INPUT = component('ResubmissionInput', {
  type: 'object',
  description: 'One of `session_ids`, `filter` and `chain_filter`, and what is done to these sessions.',
  properties: {
    action: { type: 'string', enum: [...SESSION_ACTIONS], default: 'RESUBMIT' },
    session_ids: { type: 'array', items: { type: 'string', format: 'uuid' } },
    filter: {
      type: 'object',
      description: 'The sessions that match now: the parameters of `GET /v2/sessions`, as `{"status": "ERROR"}`.',
    },
    chain_filter: {
      type: 'object',
      description: 'The newest sessions of the chains that match now: the parameters of `GET /v2/chains`.',
    },
    client_key: CLIENT_KEY,
    dry_run: { type: ['boolean', 'null'], description: 'Nothing is done: the answer says to how many it would be.' },
    overrides: OVERRIDES,
    include_succeeded: INCLUDE_SUCCEEDED,
    include_dependents: INCLUDE_DEPENDENTS,
    force: { type: ['boolean', 'null'], description: 'Of a termination: without a grace period.' },
    reason: { type: ['string', 'null'], description: 'Of a termination: why, for people.' },
  },
  additionalProperties: false,
})

export const SINGLE_RESUBMISSION_INPUT = component('SingleResubmissionInput', {
  type: 'object',
  properties: {
    client_key: CLIENT_KEY,
    overrides: OVERRIDES,
    include_succeeded: INCLUDE_SUCCEEDED,
    include_dependents: INCLUDE_DEPENDENTS,
  },
  additionalProperties: false,
})

interface GivenAction {
  action: SessionAction
  /** Checked only in part: the service validates it. */
  input: ResubmitSessionsInput
}

/** @throws RepriseError VALIDATION_FAILED */
export function givenAction(body: object): GivenAction {
  const { filter, chain_filter: chainFilter, action: wanted = 'RESUBMIT', ...rest } = body as Record<string, unknown>
  const action = SESSION_ACTIONS.find((each) => each === String(wanted).toUpperCase())
  if (!action) refuseInput([{ path: 'action', message: `must be one of ${SESSION_ACTIONS.join(', ')}` }])
  const given = writtenInput(rest) as ResubmitSessionsInput
  const input = {
    ...given,
    ...(filter != null && { filter: givenSessions(filter) }),
    ...(chainFilter != null && { chainFilter: givenChains(chainFilter) }),
  }
  return { action, input }
}

const Sessions = z.strictObject(SESSION_FILTER)
const Chains = z.strictObject(CHAIN_FILTER)

function givenSessions(given: unknown): SessionFilterInput {
  return compact(sessionFilter(parsed(Sessions, 'filter', given)))
}

function givenChains(given: unknown): ChainSelectionInput {
  return { given: given as object, conditions: chainConditions(parsed(Chains, 'chain_filter', given)) }
}

/** Parses filters in a body by the schema of query parameters, and also accepts numbers and booleans. */
function parsed<Schema extends z.ZodType>(schema: Schema, path: string, given: unknown): z.output<Schema> {
  const result = schema.safeParse(asParameters(given))
  if (result.success) return result.data
  const issues = result.error.issues.map((issue) => ({
    path: [path, ...issue.path].join('.'),
    message: issue.message,
  }))
  throw new RepriseError(
    'VALIDATION_FAILED',
    issues.map((issue) => `${issue.path}: ${issue.message}`).join('; '),
    issues,
  )
}

function asParameters(given: unknown): unknown {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return given
  const text = (value: unknown) => (['number', 'boolean'].includes(typeof value) ? String(value) : value)
  return Object.fromEntries(
    Object.entries(given)
      .filter(([, value]) => value !== null)
      .map(([name, value]) => [name, Array.isArray(value) ? value.map(text) : text(value)]),
  )
}

/** Removes conditions that were not given, because the filter is stored as it is. */
function compact(value: object): object {
  const entries = Object.entries(value).flatMap(([name, item]: [string, unknown]) => {
    if (item === null || item === undefined) return []
    if (typeof item !== 'object' || Array.isArray(item) || item instanceof Date) return [[name, item] as const]
    const inner = compact(item)
    return Object.keys(inner).length === 0 ? [] : [[name, inner] as const]
  })
  return Object.fromEntries(entries)
}
