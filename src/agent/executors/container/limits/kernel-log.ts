import { closeSync, constants, openSync, readSync } from 'node:fs'

/** Longer than any record. */
const RECORD_BYTES_MAX = 8192
const RECORDS_MAX = 200_000

/**
 * Whether the operating system's log has a kill for lack of memory in this cgroup or one below it; null where the log
 * cannot be read. It goes back some thousand messages.
 */
export function hasLoggedOomKill(group: string): boolean | null {
  let fd: number
  try {
    fd = openSync('/dev/kmsg', constants.O_RDONLY | constants.O_NONBLOCK)
  } catch {
    return null
  }
  try {
    const buffer = Buffer.alloc(RECORD_BYTES_MAX)
    const memcg = new RegExp(`oom_memcg=${group.replaceAll('.', String.raw`\.`)}[,/]`)
    for (let records = 0; records < RECORDS_MAX; records++) {
      const text = readRecord(fd, buffer)
      if (text === null) return false
      if (text.includes('oom-kill:') && memcg.test(text)) return true
    }
    return false
  } finally {
    closeSync(fd)
  }
}

/** One at a time; null behind the last. EPIPE: the log has overtaken the reader, who goes on with the oldest. */
function readRecord(fd: number, buffer: Buffer): string | null {
  try {
    return buffer.toString('latin1', 0, readSync(fd, buffer, 0, buffer.length, null))
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPIPE' ? '' : null
  }
}
