import { pageSize, type PageArguments } from '../../services/paging/page-arguments.ts'
import { parseSerialCursor } from './serial-page.ts'

/**
 * Which attempts a page of a chain asks for, one more than the page included. Attempts are numbered 1 to `attempts`
 * without a gap, so that a page from the end is a page from the beginning, too.
 */
export function attemptWindow(
  args: PageArguments,
  attempts: number,
): { after: number; limit: number; backward: boolean } {
  const { size, backward } = pageSize(args)
  const after = Math.min(Number(parseSerialCursor(args.after, 'after')), attempts)
  const before = args.before == null ? attempts + 1 : Number(parseSerialCursor(args.before, 'before'))
  const room = Math.max(0, Math.min(before, attempts + 1) - 1 - after)
  const limit = Math.min(room, size + 1)
  return { after: backward ? after + room - limit : after, limit, backward }
}
