import { z } from '@hono/zod-openapi'
import { RepriseError } from '../domain/errors.ts'
import { SESSION_ACTIONS, type SessionAction } from '../domain/session/session-spec.ts'
import {
  type ChainSelectionInput,
  overridesSchema,
  type ResubmitSessionsInput,
} from '../services/resubmission/resubmission-input.ts'
import { RESUBMITTED_MEMBER_STATES } from '../services/resubmission/resubmit-sessions.ts'
import type { SessionFilterInput } from '../services/session/session-where.ts'
import { refuseInput } from '../services/input/parse-input.ts'
import { CHAIN_FILTER, chainConditions } from './chain.routes.ts'
import { component, inputSchema, type JsonSchema } from './openapi.ts'
import { writtenInput } from './json-body.ts'
import { partialPolicy, SESSION_FILTER, sessionFilter } from './session.input.ts'

const OVERRIDES: JsonSchema = {
  ...inputSchema(overridesSchema),
  description:
    'Differences of the new attempts. Missing fields stay as they are; null removes a `batch_timeout`, or a condition of `gpus`. `fresh_checkpoint: true` begins with an empty directory.',
}
OVERRIDES.properties!['retry_policy'] = partialPolicy()
const CLIENT_KEY: JsonSchema = {
  type: ['string', 'null'],
  description: 'Idempotency key: the same key with the same request returns the record of the first one.',
}
const INCLUDE_DEPENDENTS: JsonSchema = {
  type: ['boolean', 'null'],
  description: 'True: sessions that were cancelled because this one failed are resubmitted as well.',
}
const INCLUDE_SUCCEEDED: JsonSchema = {
  type: ['boolean', 'null'],
  description: 'True: sessions that succeeded run again as well. False: they are refused.',
}

export const BULK_ACTION_INPUT = component('BulkActionInput', {
  type: 'object',
  description: 'An action on many sessions. Give one of `session_ids`, `filter` and `chain_filter` to select them.',
  properties: {
    action: { type: 'string', enum: [...SESSION_ACTIONS], default: 'RESUBMIT' },
    session_ids: { type: 'array', items: { type: 'string', format: 'uuid' } },
    filter: {
      type: 'object',
      description:
        'Selects the sessions that match now, by the parameters of `GET /v2/sessions`: `{"status": "ERROR"}`, for example.',
    },
    chain_filter: {
      type: 'object',
      description: 'Selects the newest sessions of the chains that match now, by the parameters of `GET /v2/chains`.',
    },
    client_key: CLIENT_KEY,
    dry_run: {
      type: ['boolean', 'null'],
      description: 'True: nothing is done; the response has the number of sessions that would be changed.',
    },
    overrides: OVERRIDES,
    include_succeeded: INCLUDE_SUCCEEDED,
    include_dependents: INCLUDE_DEPENDENTS,
    force: { type: ['boolean', 'null'], description: 'For a termination: kills without a grace period.' },
    reason: { type: ['string', 'null'], description: 'For a termination: the reason, for people.' },
  },
  additionalProperties: false,
})

export const GROUP_RESUBMISSION_INPUT = component('GroupResubmissionInput', {
  type: 'object',
  properties: {
    states: {
      type: ['array', 'null'],
      items: { type: 'string', enum: [...RESUBMITTED_MEMBER_STATES] },
      minItems: 1,
      default: ['FAILED', 'CANCELLED'],
      description: 'Members in these states are resubmitted.',
    },
    overrides: OVERRIDES,
    client_key: CLIENT_KEY,
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
  /** The input, which is checked only in part here: the service validates it. */
  input: ResubmitSessionsInput
}

/** Reads the requested action and its input. @throws RepriseError VALIDATION_FAILED */
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

export function givenSessions(given: unknown): SessionFilterInput {
  return compact(sessionFilter(parsed(Sessions, 'filter', given)))
}

function givenChains(given: unknown): ChainSelectionInput {
  return { given: given as object, conditions: chainConditions(parsed(Chains, 'chain_filter', given)) }
}

/** Parses filters in a body by the schema of query parameters. Numbers and booleans are accepted, too. */
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
