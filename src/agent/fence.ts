import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readBootId, uptimeSeconds } from './executors/process/proc-stat.ts'

/** The file is written again no more often than this. */
const WRITE_INTERVAL_MS = 2_000

/**
 * How long kernels may run without an answer from the server. The server counts on it: it gives a session to
 * another agent once `fenceAfter` and a margin have passed since this one was last heard.
 *
 * `<agentDir>/fence` holds the deadline, in whole seconds of the machine's uptime and then the boot, so that
 * neither a restart of the agent nor its death lengthens it: the next instance goes on with it, and while there
 * is none the nursery reads it. Time since boot is nobody's to set.
 */
export function createFence(agentDir: string, expired: () => void): Fence {
  const path = join(agentDir, 'fence')
  const bootId = readBootId()
  let timer: NodeJS.Timeout | undefined
  let writtenAt = Number.NEGATIVE_INFINITY
  let writtenFor = 0

  function arm(afterMs: number): void {
    clearTimeout(timer)
    timer = setTimeout(expired, afterMs).unref()
  }

  return {
    resume() {
      const deadline = readDeadline(path, bootId)
      if (deadline !== null) arm(Math.max(0, deadline - uptimeSeconds()) * 1000)
    },
    renew(sentAt, fenceAfterMs) {
      const now = performance.now()
      const leftMs = fenceAfterMs - (now - sentAt)
      arm(Math.max(0, leftMs))
      if (now - writtenAt < WRITE_INTERVAL_MS && writtenFor === fenceAfterMs) return
      writtenAt = now
      writtenFor = fenceAfterMs
      writeDeadline(path, bootId, Math.ceil(uptimeSeconds() + leftMs / 1000))
    },
    close: () => clearTimeout(timer),
  }
}

export interface Fence {
  /** Goes on with the deadline of an earlier instance. */
  resume(): void
  /** @param sentAt of `performance.now()`, when the request that was answered was sent */
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

function writeDeadline(path: string, bootId: string, seconds: number): void {
  writeFileSync(`${path}.new`, `${seconds} ${bootId}\n`)
  renameSync(`${path}.new`, path)
}
