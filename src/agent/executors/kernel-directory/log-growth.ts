import type { LogStreamName } from '../../../domain/agent/protocol.ts'
import { logSize } from './kernel-directory.ts'
import type { KernelEntry } from '../kernel-book/kernel-entry.ts'

const LOG_CHECK_MIN_MS = 100
const LOG_CHECK_MAX_MS = 800
const STREAMS: readonly LogStreamName[] = ['STDOUT', 'STDERR']

/**
 * Checks the size of a running kernel's two log files: every 100 ms while they grow, backing off to every 800 ms while
 * they do not. A thousand silent kernels cost about one hundredth of a core.
 */
export function hasLogGrown(kernel: KernelEntry, now: number): boolean {
  if (kernel.phase !== 'RUNNING' || now < kernel.nextLogCheckAt) return false
  const grown = STREAMS.filter((stream) => {
    const size = logSize(kernel.outputPath, stream)
    const differs = size !== kernel.logSizes[stream]
    kernel.logSizes[stream] = size
    return differs
  })
  kernel.logPauseMs =
    grown.length > 0 ? LOG_CHECK_MIN_MS : Math.min(kernel.logPauseMs * 2 || LOG_CHECK_MIN_MS, LOG_CHECK_MAX_MS)
  kernel.nextLogCheckAt = now + kernel.logPauseMs
  return grown.length > 0
}
