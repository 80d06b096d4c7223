import { PAGE_SIZE_DEFAULT } from '../../domain/limits.ts'
import type { PageLoader } from '../page-loader.ts'
import type { Page } from '../../services/paging/keyset.ts'
import { pageSize } from '../../services/paging/page-arguments.ts'
import { parseSerialCursor } from '../../services/paging/serial-cursor.ts'
import { serialPageOf } from '../../services/paging/serial-page-of.ts'

/** Rows of one entity in the order of their serial ids, oldest first, forward only. */
export async function serialPage<Row extends { id: string }>(options: {
  id: string
  args: { first?: number | null; after?: string | null }
  loader: PageLoader<Row>
  count: () => Promise<number>
}): Promise<Page<Row>> {
  const { id, args, loader, count } = options
  const { size } = pageSize({ first: args.first ?? PAGE_SIZE_DEFAULT })
  const rows = await loader.load({ id, after: parseSerialCursor(args.after), limit: size + 1 })
  return serialPageOf(rows, { size, after: args.after, count })
}
