import { closeSync, constants, fstatSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../observability/error-message.ts'
import type { Logger } from '../observability/log.ts'
import { guarded } from '../waiting/wait.ts'
import { writeControlFile } from './control-file.ts'
import { readBootId, uptimeSeconds } from './executors/process/proc-stat.ts'

/** Time between two writes of the file, unless the fence is short. */
const WRITE_INTERVAL_MS = 2_000
const WRITES_PER_FENCE = 8

/**
 * Limits how long kernels may run without an answer from the server. The server relies on this limit: it gives a
 * session to another agent once `fenceAfterMs` plus a margin have passed since this agent's last report.
 *
 * `<agentDir>/fence` holds the deadline in whole seconds of machine uptime, followed by the boot id. Neither a restart
 * nor a crash of the agent extends it: the next instance continues with the same deadline, and the executor's keeper
 * kills the kernels that this process cannot stop because it is dead or halted. The deadline is in uptime because that
 * clock cannot be set, unlike the wall clock, and because it counts the time of a suspended machine, unlike timers and
 * `performance.now()`.
 *
 * A failed write is logged and tried again with the next renewal. On a full disk, or if no further file can be opened,
 * the agent overwrites the file in place. That needs neither space nor a new descriptor, because the file stays open.
 * Otherwise the keeper would kill the kernels of a working agent. While the file cannot be written at all, no kernel may
 * start, because nothing would end it if the agent died.
 *
 * @param refuse called with the reason when a write fails, and with null when one succeeds again
 */
export function createFence(
  agentDir: string,
  expired: () => void,
  log: Logger,
  refuse: (reason: string | null) => void = () => {},
): Fence {
  const path = join(agentDir, 'fence')
  const bootId = readBootId()
  let deadline = Number.POSITIVE_INFINITY
  let timer: NodeJS.Timeout | undefined
  let writing: NodeJS.Timeout | undefined
  let writtenAt = Number.NEGATIVE_INFINITY
  let held: number | null = null
  let written: number | null = null
  let complaint = ''
  const failed = (error: unknown) => log.error({ error: messageOf(error) }, 'the fence failed unexpectedly')
  const expire = guarded(expired, failed)

  function arm(): void {
    clearTimeout(timer)
    timer = setTimeout(expire, Math.max(0, deadline - uptimeSeconds()) * 1000).unref()
  }

  function write(): void {
    clearTimeout(writing)
    writing = undefined
    writtenAt = performance.now()
    try {
      held = writeDeadline(path, `${Math.ceil(deadline)} ${bootId}\n`, held)
      written = deadline
      if (complaint !== '') refuse(null)
      complaint = ''
    } catch (error) {
      const reason = `the fence could not be written: ${messageOf(error)}`
      if (reason !== complaint) log.error({ error: messageOf(error) }, 'the fence could not be written')
      complaint = reason
      refuse(reason)
    }
  }

  return {
    resume() {
      const kept = readDeadline(path, bootId)
      if (kept === null) return
      deadline = kept
      arm()
    },
    renew(sentAt, fenceAfterMs) {
      // The process or the machine was suspended, and the timer has not run yet.
      if (uptimeSeconds() >= deadline) expire()
      const shorter = sentAt + fenceAfterMs / 1000 < deadline
      deadline = sentAt + fenceAfterMs / 1000
      arm()
      const pauseMs = Math.min(WRITE_INTERVAL_MS, fenceAfterMs / WRITES_PER_FENCE)
      if (shorter || performance.now() - writtenAt >= pauseMs) return write()
      writing ??= setTimeout(guarded(write, failed), pauseMs).unref()
    },
    close() {
      clearTimeout(timer)
      if (Number.isFinite(deadline) && written !== null && written !== deadline) write()
      clearTimeout(writing)
      if (held !== null) closeSync(held)
      held = null
    },
  }
}

export interface Fence {
  /** Continues with the deadline that an earlier instance wrote. */
  resume(): void
  /** @param sentAt `uptimeSeconds()` when the answered request was sent */
  renew(sentAt: number, fenceAfterMs: number): void
  close(): void
}

function readDeadline(path: string, bootId: string): number | null {
  try {
    const [deadline = '', boot] = readFileSync(path, 'latin1').trim().split(' ')
    return boot === bootId && Number.isFinite(Number(deadline)) ? Number(deadline) : null
  } catch {
    return null
  }
}

const IN_PLACE = constants.O_WRONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/**
 * Replaces the file as a whole. If nothing can be created, overwrites it with one write of a few bytes.
 *
 * @param held the descriptor that is open since the last write
 * @returns the open descriptor
 */
function writeDeadline(path: string, line: string, held: number | null): number | null {
  try {
    writeControlFile(path, line)
  } catch (error) {
    const fd = openInPlace(path) ?? held
    if (fd === null || !overwrite(fd, line)) {
      if (fd !== null && fd !== held) closeSync(fd)
      throw error
    }
    if (held !== null && fd !== held) closeSync(held)
    return fd
  }
  const fd = openInPlace(path)
  if (held !== null) closeSync(held)
  return fd
}

function openInPlace(path: string): number | null {
  try {
    return openSync(path, IN_PLACE)
  } catch {
    return null
  }
}

function overwrite(fd: number, line: string): boolean {
  try {
    const { size, nlink } = fstatSync(fd)
    const whole = `${line.trimEnd().padEnd(size - 1)}\n`
    return nlink > 0 && writeSync(fd, whole, 0) === whole.length
  } catch {
    return false
  }
}
