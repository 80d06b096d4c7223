import { closeSync, constants, openSync, readSync } from 'node:fs'

/** Whether a tool's message says that this GPU is lost. */
export function isNamedLost(message: string, busId: string): boolean {
  if (!/GPU is lost|fallen off the bus|Unknown Error/i.test(message)) return false
  const [, named = ''] = /([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d)/.exec(message) ?? []
  return isSameBus(busId, named)
}

/** The kernel writes the domain of an address in four digits and leaves the function out, the tool writes eight. */
export function isSameBus(one: string, other: string): boolean {
  const short = (text: string) =>
    text
      .toLowerCase()
      .replace(/^0000(?=[0-9a-f]{4}:)/, '')
      .replace(/\.\d$/, '')
  return one !== '' && short(one) === short(other)
}

/**
 * Xid errors after which a GPU computes nothing any more, or may compute wrongly, by NVIDIA's list. Others, like 13 and
 * 31, are faults of a program.
 */
const FATAL_XIDS = new Set([48, 62, 64, 74, 79, 92, 94, 95, 119, 120, 140])
const RECORD_BYTES_MAX = 8192
const RECORDS_MAX = 10_000

/** Follows the operating system's log from now on, if this user may read it. */
export function openKernelLog() {
  let fd: number | null = null
  try {
    fd = openSync('/dev/kmsg', constants.O_RDONLY | constants.O_NONBLOCK)
    const buffer = Buffer.alloc(RECORD_BYTES_MAX)
    for (let records = 0; records < RECORDS_MAX * 20 && readRecord(fd, buffer) !== null; records++);
  } catch {
    // Without the log, the driver's tool still shows most faults.
  }
  return {
    /** Returns the fatal errors since the last call. */
    read(): { busId: string; reason: string }[] {
      const errors: { busId: string; reason: string }[] = []
      if (fd === null) return errors
      const buffer = Buffer.alloc(RECORD_BYTES_MAX)
      for (let records = 0; records < RECORDS_MAX; records++) {
        const text = readRecord(fd, buffer)
        if (text === null) break
        const error = parseXid(text)
        if (error !== null) errors.push(error)
      }
      return errors
    },
    close() {
      if (fd !== null) closeSync(fd)
      fd = null
    },
  }
}

/** @returns null after the last record */
function readRecord(fd: number, buffer: Buffer): string | null {
  try {
    return buffer.toString('latin1', 0, readSync(fd, buffer, 0, buffer.length, null))
  } catch (error) {
    // Old records were overwritten, and reading continues with the oldest.
    return (error as NodeJS.ErrnoException).code === 'EPIPE' ? '' : null
  }
}

/** Parses `NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, GPU has fallen off the bus.` @returns null for other messages */
export function parseXid(text: string): { busId: string; reason: string } | null {
  const [, busId, xid, words] = /NVRM: Xid \(PCI:([0-9a-fA-F:.]+)\): (\d+), ?(.*)/.exec(text) ?? []
  if (busId === undefined || !FATAL_XIDS.has(Number(xid))) return null
  return { busId, reason: `Xid ${xid}: ${words!.replace(/^pid=[^,]*, (name=[^,]*, )?/, '').slice(0, 200)}` }
}
