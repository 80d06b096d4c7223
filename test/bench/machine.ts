import { availableParallelism, cpus, loadavg, totalmem } from 'node:os'

export type Machine = Record<string, string | number>

/** What the figures depend on. */
export function describeMachine(): Machine {
  return {
    node: process.version,
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    /** Above 0 others use the machine too. */
    loadBefore: Number(loadavg()[0]!.toFixed(2)),
  }
}
