import { z } from 'zod'
import { snakeCase } from './snake-case.ts'

export interface JsonSchema {
  properties?: Record<string, JsonSchema>
  required?: string[]
  items?: JsonSchema
  anyOf?: JsonSchema[]
  [key: string]: unknown
}

interface Component {
  name: string
  reference: { $ref: string }
  schema: JsonSchema
}

/** All that were made: those of the routes that were imported. */
export const COMPONENTS: Component[] = []

/** A schema of the OpenAPI document that routes refer to by name. */
export function component(name: string, schema: JsonSchema): Component {
  const made = { name, reference: { $ref: `#/components/schemas/${name}` }, schema }
  COMPONENTS.push(made)
  return made
}

/** The schema of a request body: that of the service's input, with names in snake_case. */
export function inputSchema(schema: z.ZodType): JsonSchema {
  const { $schema: _, ...input } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    target: 'draft-2020-12',
  }) as JsonSchema
  return snakeNames(input)
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
