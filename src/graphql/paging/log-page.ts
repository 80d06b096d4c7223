import type { LogChunkRow, LogPage, LogPlace } from '../../services/agent/read-kernel-logs.ts'
import { totals, type Page } from '../../services/paging/keyset.ts'
import { invalidCursor, pageSize, type PageArguments } from '../../services/paging/page-arguments.ts'

/** A page of a kernel's log, from either end. */
export async function logPage(options: {
  args: PageArguments
  load: (place: LogPlace) => Promise<LogPage | undefined>
  count: () => Promise<number>
}): Promise<Page<LogChunkRow>> {
  const { args, load, count } = options
  const { size, backward } = pageSize(args)
  const after = piecesOf(args.after, 'after')?.last ?? '0'
  const before = piecesOf(args.before, 'before')?.first ?? null
  const { chunks, more } = (await load({ after, before, backward, size })) ?? { chunks: [], more: false }
  const edges = chunks.map((node) => ({ cursor: logCursor(node), node }))
  return {
    edges,
    pageInfo: {
      hasNextPage: backward ? args.before != null : more,
      hasPreviousPage: backward ? more : args.after != null,
      startCursor: edges.at(0)?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
    ...totals(count),
  }
}

/** Of all pieces that a chunk was joined from: what follows it follows the last, what is before it is before the first. */
export function logCursor({ firstId, id }: Pick<LogChunkRow, 'firstId' | 'id'>): string {
  return Buffer.from(firstId === id ? `n:${id}` : `n:${firstId}-${id}`).toString('base64url')
}

/** The position behind this cursor; '0' without one. @throws RepriseError */
export function behindLogCursor(cursor: string | null | undefined): string {
  return piecesOf(cursor, 'after')?.last ?? '0'
}

function piecesOf(
  cursor: string | null | undefined,
  name: 'after' | 'before',
): { first: string; last: string } | undefined {
  if (cursor == null) return undefined
  const match = /^n:(\d{1,18})(?:-(\d{1,18}))?$/.exec(Buffer.from(cursor, 'base64url').toString())
  if (!match) throw invalidCursor(name)
  return { first: match[1]!, last: match[2] ?? match[1]! }
}
