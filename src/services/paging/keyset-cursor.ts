import { isStorableMoment } from '../../domain/storable-moment.ts'

export interface OrderColumn {
  column: string
  direction: 'asc' | 'desc'
  type: 'text' | 'uuid' | 'number' | 'date'
}

type Value = string | number | Date

/** Opaque to clients: the order it belongs to, and the row's values in that order. */
export function encodeKeyset(order: readonly OrderColumn[], row: object): string {
  const values = order.map(({ column }) => (row as Record<string, Value>)[column])
  return Buffer.from(JSON.stringify([signature(order), ...values])).toString('base64url')
}

/** Undefined if the text is not a cursor of this order. */
export function decodeKeyset(order: readonly OrderColumn[], cursor: string): Value[] | undefined {
  const parsed = parse(cursor)
  if (!Array.isArray(parsed) || parsed.length !== order.length + 1 || parsed[0] !== signature(order)) return undefined
  const values = order.map(({ type }, index) => read(type, parsed[index + 1]))
  return values.every((value) => value !== undefined) ? values : undefined
}

function signature(order: readonly OrderColumn[]): string {
  return order.map(({ column, direction }) => `${column} ${direction}`).join()
}

const CURSOR_LENGTH_MAX = 4_096
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

function parse(cursor: string): unknown {
  if (cursor.length > CURSOR_LENGTH_MAX) return undefined
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString())
  } catch {
    return undefined
  }
}

function read(type: OrderColumn['type'], value: unknown): Value | undefined {
  if (type === 'number') return Number.isSafeInteger(value) ? (value as number) : undefined
  if (typeof value !== 'string' || value.includes('\0')) return undefined
  if (type === 'uuid') return UUID.test(value) ? value : undefined
  if (type === 'text') return value
  const date = new Date(value)
  return isStorableMoment(date) ? date : undefined
}
