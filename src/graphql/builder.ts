import SchemaBuilder from '@pothos/core'
import ComplexityPlugin from '@pothos/plugin-complexity'
import PrismaPlugin from '@pothos/plugin-prisma'
import RelayPlugin from '@pothos/plugin-relay'
import { GraphQLError } from 'graphql'
import { COUNTED_ROWS_MAX } from '../domain/limits.ts'
import { isStorableMoment } from '../domain/storable-text.ts'
import { getDatamodel, type default as PrismaTypes } from '../generated/pothos.ts'
import type { GraphQLContext } from './context.ts'
import { auditedRefusals, payloadReads } from './execution/mutation-plugins.ts'
import { pacedAnswers } from './execution/paced-answers.ts'
import { isUuid } from './ids.ts'
import { LIST_LENGTH_ASSUMED } from './limits/limits.ts'
import storableArguments from './limits/storable-arguments.ts'
import loadedColumns from './loaders/loaded-columns.ts'

export const builder = new SchemaBuilder<{
  Context: GraphQLContext
  PrismaTypes: PrismaTypes
  DefaultFieldNullability: false
  DefaultEdgesNullability: false
  DefaultNodeNullability: false
  Connection: { totalCount: () => Promise<number>; totalCountIsExact: () => Promise<boolean> }
  Scalars: {
    ID: { Input: string; Output: string | number | bigint }
    UUID: { Input: string; Output: string }
    DateTime: { Input: Date; Output: Date }
    AirflowBackoff: { Input: boolean | number; Output: never }
    JSON: { Input: unknown; Output: unknown }
    Bytes: { Input: string; Output: number }
    Duration: { Input: number | string; Output: never }
    ExitCodes: { Input: number | string; Output: number | string }
  }
}>({
  plugins: [
    pacedAnswers,
    loadedColumns,
    payloadReads,
    auditedRefusals,
    storableArguments,
    ComplexityPlugin,
    RelayPlugin,
    PrismaPlugin,
  ],
  defaultFieldNullability: false,
  relay: {
    cursorType: 'String',
    nodeTypeOptions: { description: 'An object with an id that is unique across all types.' },
    nodeQueryOptions: {
      description: 'Any node by its global id; null if there is none that you may see.',
      args: { id: { description: 'The `id` of the node.' } },
    },
    nodesQueryOptions: false,
    pageInfoTypeOptions: { description: 'Position of a page in its connection.' },
    hasNextPageFieldOptions: { description: 'Whether more edges follow this page.' },
    hasPreviousPageFieldOptions: { description: 'Whether more edges precede this page.' },
    startCursorFieldOptions: { description: 'Cursor of the first edge: pass it as `before` to get the previous page.' },
    endCursorFieldOptions: { description: 'Cursor of the last edge: pass it as `after` to get the next page.' },
    cursorFieldOptions: { description: 'Cursor of this edge: pass it as `after` or `before`.' },
    nodeFieldOptions: { nullable: false, description: 'The node itself.' },
    edgesFieldOptions: {
      description: 'The nodes of the page, each with its cursor.',
      complexity: { field: 1, multiplier: 1 },
    },
    idFieldOptions: { description: 'Global id: pass it to `node`.' },
    pageInfoFieldOptions: { description: 'Position of this page in the connection.' },
    firstArgOptions: {
      description: 'Number of edges from the front; the default and the limit are those of every page.',
    },
    afterArgOptions: { description: 'Only edges after this cursor.' },
    lastArgOptions: { description: 'Number of edges from the back, instead of `first`.' },
    beforeArgOptions: { description: 'Only edges before this cursor.' },
  },
  prisma: {
    client: (context) => context.services.prisma,
    dmmf: getDatamodel(),
    exposeDescriptions: false,
    // Without this error, a resolver that forgets its query would fall back to one statement per row.
    onUnusedQuery: 'error',
  },
  complexity: {
    defaultComplexity: 1,
    defaultListMultiplier: LIST_LENGTH_ASSUMED,
    // Fields declare their cost here; `useOperationCost` enforces the limits.
    disabled: true,
  },
})

export const TOTAL_COUNT = `Total number on all pages. Counted only when requested. Sessions, chains and decisions are counted up to ${COUNTED_ROWS_MAX}.`
export const TOTAL_COUNT_IS_EXACT = 'Whether `totalCount` is exact; if false, there are more.'

builder.globalConnectionField('totalCount', (t) =>
  t.int({ description: TOTAL_COUNT, resolve: (connection) => connection.totalCount() }),
)
builder.globalConnectionField('totalCountIsExact', (t) =>
  t.boolean({
    description: TOTAL_COUNT_IS_EXACT,
    resolve: (connection) => connection.totalCountIsExact(),
  }),
)
builder.queryType({ description: 'All read operations.' })
builder.mutationType({
  description: 'All write operations. Errors that the caller can correct are members of the result union.',
})
builder.subscriptionType({
  description:
    'Events as they happen. With the cursor of an earlier event as `after`, the events since then come first.',
})

builder.scalarType('UUID', {
  description:
    'A UUID in its usual form, 8-4-4-4-12 hexadecimal digits. Either case is accepted; lower case is returned.',
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc9562',
  parseValue(value) {
    if (typeof value === 'string' && isUuid(value)) return value.toLowerCase()
    throw new GraphQLError(`UUID cannot represent ${JSON.stringify(value)}`)
  },
  serialize: (value) => value,
})

builder.scalarType('JSON', {
  description: 'Any JSON value: an object, a list, a text, a number, true, false or null.',
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc8259',
  serialize: (value) => value,
})

builder.scalarType('Bytes', {
  description:
    'An amount of bytes. Returned as a number. As an input it is a number, or a text with a binary unit: `"500g"`, `"512 MiB"`.',
  parseValue(value) {
    if (typeof value === 'string') return value
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return String(value)
    throw new GraphQLError(`Bytes cannot represent ${JSON.stringify(value)}: examples are 1048576 and "512 MiB"`)
  },
  serialize: (value) => value,
})

const DATE_TIME = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/

builder.scalarType('DateTime', {
  description: 'A point in time in RFC 3339 format: `2026-01-31T12:00:00.000Z`. Returned in UTC, with milliseconds.',
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc3339',
  parseValue(value) {
    const date = typeof value === 'string' && DATE_TIME.test(value) ? new Date(value) : undefined
    if (date && isRealDay(value as string, date)) return date
    throw new GraphQLError(`DateTime cannot represent ${JSON.stringify(value)}: an example is 2026-01-31T12:00:00Z`)
  },
  serialize: (value) => value.toISOString() as never,
})

/** Checks that the day exists: `new Date` reads 31 February as 3 March. */
function isRealDay(text: string, date: Date): boolean {
  if (!isStorableMoment(date)) return false
  const [year, month, day] = text.slice(0, 10).split('-').map(Number)
  return new Date(Date.UTC(year!, month! - 1, day)).getUTCDate() === day
}
