import { removeKernelDirectory } from './kernel-directory.ts'

/** As many as libuv has threads, so that a launch never waits behind thousands of removals. */
const AT_ONCE_MAX = 4

/** Removes directories of kernels, a few at once, in the order of the calls. */
export function createRemovalQueue(): (path: string, token: string) => Promise<void> {
  const waiting: Array<() => void> = []
  let running = 0

  return async (path, token) => {
    if (running === AT_ONCE_MAX) await new Promise<void>((resolve) => waiting.push(resolve))
    else running++
    try {
      await removeKernelDirectory(path, token)
    } finally {
      const next = waiting.shift()
      if (next === undefined) running--
      else next()
    }
  }
}
