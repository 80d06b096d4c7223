import { existsSync } from 'node:fs'
import { systemProgram } from '../../machine/system-programs.ts'
import type { Logger } from '../../observability/log.ts'
import { amdDriver } from './amd.ts'
import type { GpuDriver } from './gpu-driver.ts'
import { type Gpus, openGpus } from './gpu-watch.ts'
import { nvidiaDriver } from './nvidia.ts'

export interface GpuConfig {
  /** Which GPUs kernels get: all that are found, none, or those with these UUIDs. */
  gpus: 'auto' | 'off' | readonly string[]
  /** How many kernels may share a GPU; undefined if each has its own. */
  gpuSharing?: number | undefined
}

/** The vendors whose tool is installed here. */
function gpuDrivers(): GpuDriver[] {
  const tools = [
    ['nvidia-smi', nvidiaDriver],
    ['rocm-smi', amdDriver],
  ] as const
  return tools.flatMap(([name, driver]) => {
    const tool = systemProgram(name)
    return existsSync(tool) ? [driver(tool)] : []
  })
}

/** Finds the GPUs that the agent assigns. Never rejects. @returns null if it assigns none */
export async function findGpus(
  { gpus: wanted, gpuSharing: sharing }: GpuConfig,
  agentDir: string,
  log: Logger,
): Promise<Gpus | null> {
  if (wanted === 'off') return null
  const drivers = gpuDrivers()
  if (drivers.length === 0) return null
  const gpus = await openGpus({ drivers, only: wanted === 'auto' ? null : wanted, sharing, agentDir, log })
  const found = gpus.observe().map(({ index, name, uuid }) => `${index}: ${name} (${uuid})`)
  if (found.length > 0) log.info({ gpus: found }, `GPUs for kernels: ${found.length}`)
  return gpus
}
