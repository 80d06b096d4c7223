import { logCursor, piecesOf } from '../../services/agent/log-cursor.ts'
import type { LogChunkRow, LogPage, LogPlace } from '../../services/agent/read-kernel-logs.ts'
import { totals, type Page } from '../../services/paging/keyset.ts'
import { pageSize, type PageArguments } from '../../services/paging/page-arguments.ts'

/** A page of a kernel's log, from either end. */
export async function logPage(options: {
  args: PageArguments & { since?: Date | null | undefined }
  load: (place: LogPlace) => Promise<LogPage | undefined>
  count: () => Promise<number>
}): Promise<Page<LogChunkRow>> {
  const { args, load, count } = options
  const { size, backward } = pageSize(args)
  const after = piecesOf(args.after, 'after')?.last ?? '0'
  const before = piecesOf(args.before, 'before')?.first ?? null
  const { chunks, more } = (await load({ after, before, backward, size, since: args.since ?? null })) ?? {
    chunks: [],
    more: false,
  }
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
