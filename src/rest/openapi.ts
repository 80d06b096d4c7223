import { z } from 'zod'
import { snakeCase } from './snake-case.ts'
import type { RestApp } from './rest-app.ts'

export const OPENAPI_PATH = '/v2/openapi.json'

/** The head of the document at `OPENAPI_PATH`; the routes provide the rest. */
export const OPENAPI_INFO = {
  openapi: '3.1.0',
  info: {
    title: 'Reprise',
    version: '2',
    description:
      'Compute sessions that retry themselves, as JSON over HTTP: the same services as in GraphQL, with names in snake_case. Enum values are upper case in responses; requests may have either case.',
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
  },
  servers: [{ url: '/' }],
  tags: [
    { name: 'sessions', description: 'Attempts at pieces of work, and their chains.' },
    { name: 'code', description: 'Uploaded files for sessions.' },
    { name: 'outputs', description: 'Files that attempts left.' },
    { name: 'kernels', description: 'The processes of sessions, and their output.' },
    { name: 'groups', description: 'Sessions that are one piece of work.' },
    { name: 'chains', description: 'All attempts at one piece of work.' },
    { name: 'bulk actions', description: 'Actions on many sessions.' },
    { name: 'agents', description: 'Nodes that run kernels.' },
    { name: 'events', description: 'Streams of events.' },
    { name: 'deployments', description: 'Services with a fixed number of healthy replicas.' },
    { name: 'schedules', description: 'Sessions that are created at planned times.' },
    { name: 'webhooks', description: 'Endpoints to which events are sent.' },
    { name: 'tokens', description: 'Access tokens, for administrators.' },
    { name: 'quotas', description: 'Limits on what users, projects and domains use at the same time.' },
    { name: 'discovery', description: 'Addresses of healthy replicas, in the formats of the tools that read them.' },
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

/** The components that the route files have added. */
const COMPONENTS: Component[] = []

/** Adds a schema to the OpenAPI document. Routes refer to it by its name. */
export function component(name: string, schema: JsonSchema): Component {
  const made = { name, reference: { $ref: `#/components/schemas/${name}` }, schema }
  COMPONENTS.push(made)
  return made
}

/** The names of fields in request bodies that are not the same in camelCase. */
export function fieldNames(): ReadonlySet<string> {
  const names = new Set<string>()
  const collect = (part: unknown) => {
    if (typeof part !== 'object' || part === null) return
    const { properties } = part as JsonSchema
    for (const name of Object.keys(properties ?? {})) if (name.includes('_')) names.add(name)
    Object.values(part).forEach(collect)
  }
  for (const { schema } of COMPONENTS) collect(schema)
  return names
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
