import { execFile } from 'node:child_process'
import type { LogStreamName } from '../../../domain/agent/protocol.ts'
import { LOG_BYTES_PER_KERNEL_MAX, LOG_FILE_BYTES_MAX, LOG_HEAD_BYTES_PER_STREAM_MAX } from '../../../domain/limits.ts'
import { logPath } from './kernel-directory.ts'
import type { ProcessKernel } from '../process/process-kernel.ts'

/** The most that is ever shipped of one stream: its head, and all that this leaves of the limit. */
export const LOG_FILE_HEAD_AND_TAIL_BYTES = LOG_BYTES_PER_KERNEL_MAX

/**
 * Gives back to the disk what lies between the parts of a stream that are shipped. The file keeps its length. If that
 * fails, the keeper finds another way.
 */
export function cutBack(kernel: ProcessKernel, stream: LogStreamName, size: number): void {
  const since = Math.max(kernel.logCutAt[stream], LOG_FILE_HEAD_AND_TAIL_BYTES)
  if (size - since < LOG_FILE_BYTES_MAX - LOG_FILE_HEAD_AND_TAIL_BYTES) return
  kernel.logCutAt[stream] = size
  const [offset, length] = [LOG_HEAD_BYTES_PER_STREAM_MAX, size - LOG_FILE_HEAD_AND_TAIL_BYTES]
  const range = ['-o', String(offset), '-l', String(length)]
  execFile('fallocate', ['-p', ...range, logPath(kernel.path, stream)], () => undefined)
}
