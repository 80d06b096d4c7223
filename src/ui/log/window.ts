/** Browsers draw nothing in elements that are higher than some ten million pixels. */
export const ELEMENT_PX_MAX = 8_000_000

/** Rows of the same height, seen through something that scrolls. */
export interface Rows {
  count: number
  height: number
  viewHeight: number
}

export interface Window {
  /** The first row that is drawn, and the one after the last. */
  first: number
  end: number
  /** Where the first one is, in pixels from the top of the view: at most 0. */
  top: number
}

/** How high the element is that scrolls. */
export function scrollHeight({ count, height }: Rows): number {
  return Math.min(count * height, ELEMENT_PX_MAX)
}

/** The rows that are visible at a scroll position. Where the rows are higher than an element may be, positions are scaled. */
export function windowAt(rows: Rows, scrollTop: number): Window {
  const position = positionAt(rows, scrollTop)
  const first = Math.min(Math.max(0, rows.count - 1), Math.floor(position / rows.height))
  const end = Math.min(rows.count, Math.ceil((position + rows.viewHeight) / rows.height))
  return { first, end: Math.max(first, end), top: first * rows.height - position }
}

/** The scroll position at which a row is `at` of the view's height from its top; 0.5 is its middle. */
export function scrollTopOf(rows: Rows, row: number, at = 0): number {
  const room = rows.viewHeight - rows.height
  const position = Math.min(Math.max(0, row * rows.height - Math.max(0, room * at)), hidden(rows))
  return hidden(rows) === 0 ? 0 : (position / hidden(rows)) * scrollable(rows)
}

function positionAt(rows: Rows, scrollTop: number): number {
  const range = scrollable(rows)
  return range === 0 ? 0 : Math.min(1, Math.max(0, scrollTop / range)) * hidden(rows)
}

/** Pixels of rows that are not seen at a time. */
function hidden({ count, height, viewHeight }: Rows): number {
  return Math.max(0, count * height - viewHeight)
}

function scrollable(rows: Rows): number {
  return Math.max(0, scrollHeight(rows) - rows.viewHeight)
}
