import { z } from 'zod'
import { createSessionSchema } from '../../services/create-session-input.ts'
import { RetryPolicyResource } from './retry-policy.resource.ts'
import { snakeCase } from './snake-case.ts'

interface JsonSchema {
  properties?: Record<string, JsonSchema>
  required?: string[]
  items?: JsonSchema
  anyOf?: JsonSchema[]
  [key: string]: unknown
}

/** The body of a new session, out of the schema that the service reads it with. */
export const SESSION_INPUT = {
  name: 'SessionInput',
  reference: { $ref: '#/components/schemas/SessionInput' },
  schema: sessionInputSchema(),
}

function sessionInputSchema(): JsonSchema {
  const schema = z.toJSONSchema(createSessionSchema, { io: 'input', unrepresentable: 'any', target: 'draft-2020-12' })
  const { $schema: _, ...input } = snakeNames(schema as JsonSchema)
  input.properties!['retry_policy'] = partialPolicy()
  // Dates of GraphQL's own scalar have no form in JSON.
  input.properties!['starts_at'] = { type: ['string', 'null'], format: 'date-time' }
  return { ...input, description: 'What `createSession` takes, with names in snake_case.' }
}

/** As given with a session: every field may be left to the defaults. */
function partialPolicy(): JsonSchema {
  const { $schema: _, required: __, ...policy } = z.toJSONSchema(RetryPolicyResource, { io: 'input' }) as JsonSchema
  return { ...policy, description: 'Every field may be left out; in camelCase, as in GraphQL, they are read too.' }
}

function snakeNames(schema: JsonSchema): JsonSchema {
  const { properties, required, items, anyOf } = schema
  return {
    ...schema,
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, property]) => [snakeCase(name), snakeNames(property)]),
      ),
    }),
    ...(required && { required: required.map((name) => snakeCase(name)) }),
    ...(items && { items: snakeNames(items) }),
    ...(anyOf && { anyOf: anyOf.map(snakeNames) }),
  }
}
