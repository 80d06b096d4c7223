import type { ObservedGpu } from '../../domain/gpu.ts'

/** The server gets new figures at most this often. */
const INTERVAL_MS = 15_000

/** What the GPUs do now, on its way to the server. */
export interface GpuFigures {
  note(gpus: ObservedGpu[]): void
  /** The figures for the next sync; undefined if none are due. */
  next(now?: number): ObservedGpu[] | undefined
  /** The server has the last ones. */
  answered(): void
}

export function createGpuFigures(): GpuFigures {
  let latest: ObservedGpu[] | null = null
  let sent: ObservedGpu[] | null = null
  let sentAt = Number.NEGATIVE_INFINITY
  return {
    note(gpus) {
      latest = gpus
    },
    next(now = performance.now()) {
      if (latest === null || now - sentAt < INTERVAL_MS) return undefined
      sent = latest
      return latest
    },
    answered() {
      if (latest === sent) latest = null
      sentAt = performance.now()
    },
  }
}
