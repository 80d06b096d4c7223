import type { Queryable } from '../../../src/store/database.ts'
import type { Kind } from './query-calls.ts'

interface TypeRow {
  oid: number
  name: string
  category: string
  element: number
  labels: string[]
}

const TYPES_SQL = `
SELECT t.oid::int AS oid, t.typname AS name, t.typcategory AS category, t.typelem::int AS element,
  ARRAY(SELECT e.enumlabel::text FROM pg_enum e WHERE e.enumtypid = t.oid ORDER BY e.enumsortorder) AS labels
FROM pg_type t`

export type Parser = (oid: number) => (value: string) => unknown

/** The type of a column's values once the driver has parsed them. */
export interface ColumnType {
  name: string
  /** JSON may be anything that JSON can say. */
  value: Kind['is'] | 'json'
  /** The type of the elements of an array. */
  of?: ColumnType
  /** The labels of an enum. */
  labels: string[]
}

/** A text of each category of types, as PostgreSQL sends it. */
const SAMPLES: Record<string, string> = { B: 't', N: '1', D: '2026-01-02 03:04:05+00', S: 'text', U: 'text', X: 'text' }

/** Asks the driver's parsers themselves, with a text of each type. */
export async function readColumnTypes(db: Queryable): Promise<(oid: number, parser: Parser) => ColumnType> {
  const { rows } = await db.query<TypeRow>(TYPES_SQL)
  const types = new Map(rows.map((row) => [row.oid, row]))
  const sampleOf = ({ name, category, labels, element }: TypeRow): string => {
    if (category === 'A') return `{${sampleOf(types.get(element)!)}}`
    return name.startsWith('json') ? '{}' : (labels[0] ?? SAMPLES[category] ?? '')
  }
  return function typeOf(oid, parser): ColumnType {
    const type = types.get(oid)!
    const value: unknown = parser(oid)(sampleOf(type))
    const { name, labels } = type
    if (name.startsWith('json')) return { name, labels, value: 'json' }
    if (Array.isArray(value))
      return { name, labels, value: 'array', of: ofElements(typeOf(type.element, parser), value) }
    return { name, labels, value: kindOf(value) }
  }
}

/** Elements are parsed by the parser of their array, which need not be the one of the element. */
function ofElements(type: ColumnType, [element]: unknown[]): ColumnType {
  return type.value === 'json' ? type : { ...type, value: kindOf(element) }
}

function kindOf(value: unknown): Kind['is'] {
  if (value instanceof Date) return 'Date'
  const type = typeof value
  return type === 'string' || type === 'number' || type === 'boolean' || type === 'bigint' ? type : 'object'
}

/** Whether the row type tells what a value of this column is, if it isn't null. */
export function fits(column: ColumnType, kinds: readonly Kind[]): boolean {
  if (kinds.some(({ is }) => is === 'anything')) return true
  if (column.value === 'json') return !kinds.some(({ is }) => is === 'Date' || is === 'bigint')
  const told = kinds.filter(({ is }) => is === column.value)
  return (
    told.length > 0 && told.every((kind) => (kind.is === 'array' ? fits(column.of!, kind.of) : isLabel(kind, column)))
  )
}

/** The row type of an enum may be a part of its labels, and nothing else. */
function isLabel(kind: Kind, { labels }: ColumnType): boolean {
  return labels.length === 0 || !('literal' in kind) || labels.includes(String(kind.literal))
}

/** The keys of the row type that are none of these columns. */
export function neverIs(columns: readonly ColumnType[], kinds: readonly Kind[]): Kind | undefined {
  const seen = new Set<string>(['null', 'undefined', 'anything', ...columns.map(({ value }) => value)])
  return seen.has('json') ? undefined : kinds.find(({ is }) => !seen.has(is))
}
