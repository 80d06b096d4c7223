import { pageSize, type PageArguments } from '../../services/paging/page-arguments.ts'
import { parseSerialCursor } from '../../services/paging/serial-cursor.ts'

/**
 * The attempts of a page of a chain, plus one. Attempts are numbered 1 to `attempts` without gaps, so a page from the
 * end can be read like a page from the beginning.
 */
export function attemptWindow(
  args: PageArguments,
  attempts: number,
): { after: number; limit: number; backward: boolean } {
  const { size, backward } = pageSize(args)
  const after = Math.min(Number(parseSerialCursor(args.after, 'after')), attempts)
  const before = args.before == null ? attempts + 1 : Number(parseSerialCursor(args.before, 'before'))
  const width = Math.max(0, Math.min(before, attempts + 1) - 1 - after)
  const limit = Math.min(width, size + 1)
  return { after: backward ? after + width - limit : after, limit, backward }
}
