import { z } from 'zod'
import { snakeCase } from './snake-case.ts'
import type { RestApp } from './rest-app.ts'

export const OPENAPI_PATH = '/v2/openapi.json'

/** The head of the document at `OPENAPI_PATH`; the routes themselves provide the rest. */
export const OPENAPI_INFO = {
  openapi: '3.1.0',
  info: {
    title: 'Reprise',
    version: '2',
    description:
      'Compute sessions that retry themselves, as JSON over HTTP: the same services as in GraphQL, with names in snake_case. Words of closed sets are in capitals in answers; requests may have them in either case.',
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
  },
  servers: [{ url: '/' }],
  tags: [
    { name: 'sessions', description: 'Attempts at pieces of work, and their chains.' },
    { name: 'code', description: 'Files that come along with sessions.' },
    { name: 'kernels', description: 'The processes of sessions, and what they write.' },
    { name: 'chains', description: 'All attempts at one piece of work.' },
    { name: 'resubmissions', description: 'What is done to many sessions at once.' },
    { name: 'agents', description: 'Nodes that run kernels.' },
    { name: 'events', description: 'What happens, as it happens.' },
    { name: 'deployments', description: 'Services that keep their replicas.' },
    { name: 'schedules', description: 'Sessions that are created again and again.' },
    { name: 'discovery', description: 'Where healthy replicas serve, in the formats of the tools that read it.' },
  ],
  security: [{ bearer: [] }],
}

export function registerComponents({ openAPIRegistry }: RestApp): void {
  openAPIRegistry.registerComponent('securitySchemes', 'bearer', { type: 'http', scheme: 'bearer' })
  for (const { name, schema } of COMPONENTS) openAPIRegistry.registerComponent('schemas', name, schema)
}

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

/** The components of all route files that are imported. */
const COMPONENTS: Component[] = []

/** Adds a schema to the OpenAPI document, to which routes refer by its name. */
export function component(name: string, schema: JsonSchema): Component {
  const made = { name, reference: { $ref: `#/components/schemas/${name}` }, schema }
  COMPONENTS.push(made)
  return made
}

/** Returns the schema of a request body: the schema of the service's input, with names in snake_case. */
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
