import { HEAD_OF_LINE_SKIPS_MAX } from '../limits.ts'
import type { ResourceRequest } from './resource-request.ts'

export type Sequencer = 'FIFO' | 'LIFO' | 'DRF'

export interface Sequenced {
  id: string
  /** Higher priorities go first, whatever the sequencer. */
  priority: number
  /** Milliseconds since 1970. */
  createdAt: number
  /** The user, or the project if there is none: DRF counts the shares of owners. */
  owner: string
  request: ResourceRequest
  skips: number
}

/**
 * The order of placement. In each priority band the overdue sessions come first, oldest first; the others
 * follow in the sequencer's order.
 */
export interface Sequence<Session extends Sequenced> {
  /** Whether later sessions go first. */
  readonly youngestFirst: boolean
  /** Undefined if all sessions had their turn, or if the next session in order is not among those given (`ranOut`). */
  next(): Session | undefined
  /** Reports that the session last returned by `next` was placed. */
  placed(): void
  /**
   * Reports that the scheduling class of the session last returned by `next` may have more waiting sessions that were
   * not given.
   */
  ranOut(): void
}

export function isOverdue({ skips }: Pick<Sequenced, 'skips'>): boolean {
  return skips >= HEAD_OF_LINE_SKIPS_MAX
}

/** Orders sessions oldest first. */
export function compareAge(a: Sequenced, b: Sequenced): number {
  return a.createdAt - b.createdAt || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
}
