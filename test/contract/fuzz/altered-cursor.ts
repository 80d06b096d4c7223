import fc from 'fast-check'
import { hostileMoment } from './well-typed-values.ts'
import { hostileText } from './hostile-values.ts'

/** The given cursors, some of them cut off or with one value replaced. */
export function alteredCursor(cursors: readonly string[]): fc.Arbitrary<string> {
  if (cursors.length === 0) return hostileText
  const cursor = fc.constantFrom(...cursors)
  return fc.oneof(
    cursor,
    fc.tuple(cursor, fc.nat(3), fc.oneof(hostileMoment, fc.uuid(), fc.integer(), hostileText)).map(replaceValue),
    fc.tuple(cursor, fc.nat(60)).map(([text, length]) => text.slice(0, length)),
  )
}

function replaceValue([cursor, index, value]: [string, number, unknown]): string {
  try {
    const values = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[]
    values[1 + (index % (values.length - 1))] = value
    return Buffer.from(JSON.stringify(values)).toString('base64url')
  } catch {
    return `${cursor}${String(value)}`
  }
}
