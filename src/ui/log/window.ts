/** Below the height above which browsers draw nothing, some ten million pixels. */
export const ELEMENT_PX_MAX = 8_000_000

/** Rows of the same height in a scrolled view. */
export interface Rows {
  count: number
  height: number
  viewHeight: number
}

export interface Window {
  /** The first row that is drawn, and the one after the last. */
  first: number
  end: number
  /** The first row's distance from the top of the view in pixels: at most 0. */
  top: number
}

/** The height of the scrolled element. */
export function scrollHeight({ count, height }: Rows): number {
  return Math.min(count * height, ELEMENT_PX_MAX)
}

/**
 * The rows that are visible at a scroll position. If the rows are higher than an element may be, positions are
 * scaled.
 */
export function windowAt(rows: Rows, scrollTop: number): Window {
  const position = positionAt(rows, scrollTop)
  const first = Math.min(Math.max(0, rows.count - 1), Math.floor(position / rows.height))
  const end = Math.min(rows.count, Math.ceil((position + rows.viewHeight) / rows.height))
  return { first, end: Math.max(first, end), top: first * rows.height - position }
}

/** The scroll position that shows a row at a share `at` of the view's height; 0.5 is the middle. */
export function scrollTopOf(rows: Rows, row: number, at = 0): number {
  const room = rows.viewHeight - rows.height
  const position = Math.min(Math.max(0, row * rows.height - Math.max(0, room * at)), hidden(rows))
  return hidden(rows) === 0 ? 0 : (position / hidden(rows)) * scrollable(rows)
}

function positionAt(rows: Rows, scrollTop: number): number {
  const range = scrollable(rows)
  return range === 0 ? 0 : Math.min(1, Math.max(0, scrollTop / range)) * hidden(rows)
}

/** The height of the rows outside the view, in pixels. */
function hidden({ count, height, viewHeight }: Rows): number {
  return Math.max(0, count * height - viewHeight)
}

function scrollable(rows: Rows): number {
  return Math.max(0, scrollHeight(rows) - rows.viewHeight)
}
