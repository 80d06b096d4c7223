import { useState } from 'react'

/** `isGone`: it was there when the pointer came, and is there no longer. */
export type Steady<Row> = Row & { isGone?: true }

/**
 * Rows of a list that is read again and again: as long as somebody points at them, none of them moves. `of` says of
 * which list and of which page of it they are.
 */
export function useSteadyRows<Row extends { id: string }>(of: string, fresh: readonly Row[]) {
  const [held, setHeld] = useState<{ of: string; rows: readonly Row[] }>()
  return {
    rows: held?.of === of ? steady(held.rows, fresh) : (fresh as readonly Steady<Row>[]),
    hold: () => setHeld((before) => (before?.of === of ? before : { of, rows: fresh })),
    release: () => setHeld(undefined),
  }
}

/** The rows that there were, in their places, as they are now. */
function steady<Row extends { id: string }>(before: readonly Row[], now: readonly Row[]): Steady<Row>[] {
  const byId = new Map(now.map((row) => [row.id, row]))
  return before.map((row) => byId.get(row.id) ?? { ...row, isGone: true })
}
