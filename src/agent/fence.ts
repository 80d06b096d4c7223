import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readBootId, uptimeSeconds } from './executors/process/proc-stat.ts'

/** Minimum time between two writes of the file. */
const WRITE_INTERVAL_MS = 2_000

/**
 * Limits how long kernels may run without an answer from the server. The server relies on it: it gives a session to
 * another agent once `fenceAfterMs` plus a margin have passed since it last heard from this one.
 *
 * `<agentDir>/fence` holds the deadline in whole seconds of machine uptime, followed by the boot id. Neither a restart
 * nor a crash of the agent extends it: the next instance continues with the same deadline, and while no agent runs, the
 * nursery enforces it. Uptime is used because, unlike the wall clock, nobody can set it.
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
  /** Continues with the deadline of an earlier instance. */
  resume(): void
  /** @param sentAt `performance.now()` when the answered request was sent */
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
