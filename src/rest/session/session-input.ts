import { z } from 'zod'
import { createSessionSchema } from '../../services/session/create-session-input.ts'
import { component, inputSchema, type JsonSchema } from '../resources/input-schema.ts'
import { RetryPolicyResource } from '../retry/retry-policy.resource.ts'

export const SESSION_INPUT = component('SessionInput', sessionInputSchema())

export const RETRY_UPDATE = component('RetryUpdate', {
  type: 'object',
  properties: { policy: partialPolicy() },
  required: ['policy'],
  additionalProperties: false,
  description: "Fields that replace those of the session's policy; the others stay as they are.",
})

function sessionInputSchema(): JsonSchema {
  const input = inputSchema(createSessionSchema)
  input.properties!['retry_policy'] = partialPolicy()
  // The conversion to JSON Schema cannot represent dates.
  input.properties!['starts_at'] = { type: ['string', 'null'], format: 'date-time' }
  return { ...input, description: 'What `createSession` takes, with names in snake_case.' }
}

/** A policy as given with a session: every field is optional. */
function partialPolicy(): JsonSchema {
  const { $schema: _, required: __, ...policy } = z.toJSONSchema(RetryPolicyResource, { io: 'input' }) as JsonSchema
  return { ...policy, description: 'Every field is optional; names in camelCase, as in GraphQL, are accepted, too.' }
}
