import type { SyncPointName, SyncPoints } from '../../../src/observability/sync-points.ts'

/** Holds the first caller that reaches a gate until the test opens it; later callers pass. */
export interface Gate {
  reached: Promise<void>
  open(): void
}

export function syncGates(...names: SyncPointName[]): { sync: SyncPoints; gates: Record<string, Gate> } {
  const gates: Record<string, Gate & { arrive(): void; opened: Promise<void>; passed: boolean }> = {}
  for (const name of names) {
    const arrival = Promise.withResolvers<void>()
    const opening = Promise.withResolvers<void>()
    gates[name] = {
      reached: arrival.promise,
      arrive: arrival.resolve,
      opened: opening.promise,
      open: opening.resolve,
      passed: false,
    }
  }
  return {
    gates,
    sync: {
      async reached(name) {
        const gate = gates[name]
        if (!gate || gate.passed) return
        gate.passed = true
        gate.arrive()
        await gate.opened
      },
    },
  }
}
