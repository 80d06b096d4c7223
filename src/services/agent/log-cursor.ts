import { invalidCursor } from '../paging/page-arguments.ts'
import type { LogChunkRow } from './read-kernel-logs.ts'

/** Of all pieces that a chunk was joined from: what follows it follows the last, what is before it is before the first. */
export function logCursor({ firstId, id }: Pick<LogChunkRow, 'firstId' | 'id'>): string {
  return Buffer.from(firstId === id ? `n:${id}` : `n:${firstId}-${id}`).toString('base64url')
}

/** The position behind this cursor; '0' without one. @throws RepriseError */
export function behindLogCursor(cursor: string | null | undefined): string {
  return piecesOf(cursor, 'after')?.last ?? '0'
}

/** @throws RepriseError */
export function piecesOf(
  cursor: string | null | undefined,
  name: 'after' | 'before',
): { first: string; last: string } | undefined {
  if (cursor == null) return undefined
  const match = /^n:(\d{1,18})(?:-(\d{1,18}))?$/.exec(Buffer.from(cursor, 'base64url').toString())
  if (!match) throw invalidCursor(name)
  return { first: match[1]!, last: match[2] ?? match[1]! }
}
