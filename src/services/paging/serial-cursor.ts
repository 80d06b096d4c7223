import { invalidCursor } from './page-arguments.ts'

export function serialCursor(id: string): string {
  return Buffer.from(`n:${id}`).toString('base64url')
}

/** The decimal id; '0' without a cursor. @throws RepriseError */
export function parseSerialCursor(cursor: string | null | undefined, name: 'after' | 'before' = 'after'): string {
  if (cursor == null) return '0'
  const match = /^n:(\d{1,18})$/.exec(Buffer.from(cursor, 'base64url').toString())
  if (!match) throw invalidCursor(name)
  return match[1]!
}
