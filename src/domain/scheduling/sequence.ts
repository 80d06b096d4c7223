import { HEAD_OF_LINE_SKIPS_MAX } from '../limits.ts'
import type { Shape } from './shape.ts'

export type Sequencer = 'FIFO' | 'LIFO' | 'DRF'

export interface Sequenced {
  id: string
  /** Higher ones go first, whatever the sequencer. */
  priority: number
  /** Milliseconds since 1970. */
  createdAt: number
  /** The user, or the project where there is none: whose share DRF counts. */
  owner: string
  shape: Shape
  skips: number
}

/** Who is next. In each band of priority those that hold the line come first, oldest first; then as the sequencer says. */
export interface Sequence<Session extends Sequenced> {
  /** Whether those that came later go first. */
  readonly youngestFirst: boolean
  /** Undefined where all had their turn, or where it is the turn of somebody who is not here (`ranOut`). */
  next(): Session | undefined
  /** The session that `next` gave last was placed. */
  placed(): void
  /** More of the lane of the session that `next` gave last may be waiting, behind it, unseen. */
  ranOut(): void
}

export function holdsLine({ skips }: Pick<Sequenced, 'skips'>): boolean {
  return skips >= HEAD_OF_LINE_SKIPS_MAX
}

/** `a` before `b`: oldest first. */
export function compareAge(a: Sequenced, b: Sequenced): number {
  return a.createdAt - b.createdAt || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
}
