import type { Removals } from '../../removal/removals.ts'
import { removeKernelDirectory } from './kernel-directory.ts'

/** The number of libuv's threads, so that a launch never queues behind thousands of removals. */
const AT_ONCE_MAX = 4

/** Removes kernel directories, a few at a time, in the order of the calls. */
export function createRemovalQueue(removals: Removals): (path: string) => Promise<void> {
  const waiting: Array<() => void> = []
  let running = 0

  return async (path) => {
    if (running === AT_ONCE_MAX) await new Promise<void>((resolve) => waiting.push(resolve))
    else running++
    try {
      await removeKernelDirectory(path, removals)
    } finally {
      const next = waiting.shift()
      if (next === undefined) running--
      else next()
    }
  }
}
