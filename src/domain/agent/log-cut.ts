import { LOG_BYTES_PER_KERNEL_MAX, LOG_HEAD_BYTES_PER_STREAM_MAX } from '../limits.ts'
import type { LogStreamName } from './protocol.ts'

/** What is kept of one stream of an ended kernel, in bytes: its first `head` and its last `tail`. */
export interface StreamCut {
  size: number
  head: number
  leftOut: number
  tail: number
}

/**
 * What is kept of a kernel's output, from the sizes of its streams alone, so that every instance of an agent comes to
 * the same: of each stream the head, which is shipped while the kernel runs, and of what is left of the kernel's limit
 * the ends of both streams, half for each unless one needs less. All of it, if it fits.
 */
export function cutLog(sizes: Readonly<Record<LogStreamName, number>>): Record<LogStreamName, StreamCut> {
  const head = (size: number) => Math.min(size, LOG_HEAD_BYTES_PER_STREAM_MAX)
  const budget = LOG_BYTES_PER_KERNEL_MAX - head(sizes.STDOUT) - head(sizes.STDERR)
  const cut = (size: number, other: number): StreamCut => {
    const rest = size - head(size)
    const share = Math.max(Math.floor(budget / 2), budget - (other - head(other)))
    const tail = Math.min(rest, share)
    return { size, head: head(size), leftOut: rest - tail, tail }
  }
  return { STDOUT: cut(sizes.STDOUT, sizes.STDERR), STDERR: cut(sizes.STDERR, sizes.STDOUT) }
}

/**
 * Shipped streams are numbered without what is left out: behind the head comes a note, which counts as one byte, then
 * the tail.
 */
export function shippedBytes({ head, leftOut, tail }: StreamCut): number {
  return head + (leftOut > 0 ? 1 : 0) + tail
}

/** How far behind its position in the shipped stream a byte of the tail stands in the file. */
export function tailShift({ leftOut }: StreamCut): number {
  return leftOut > 0 ? leftOut - 1 : 0
}

export function cutNote({ leftOut }: StreamCut): string {
  return `\n[reprise: ${leftOut} bytes of output are left out here]\n`
}
