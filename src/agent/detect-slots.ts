import { availableParallelism, totalmem } from 'node:os'

/** The rest is left to the agent, an embedded server and the system. */
const MEMORY_SHARE = 0.8

/** What this machine or container can offer to kernels: `cpu` in cores, `mem` in bytes. */
export function detectSlots(): Record<string, string> {
  const constrained = process.constrainedMemory()
  const total = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
  return { cpu: String(availableParallelism()), mem: String(Math.floor(total * MEMORY_SHARE)) }
}
