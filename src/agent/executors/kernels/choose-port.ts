import { once } from 'node:events'
import { createServer } from 'node:net'
import type { KernelRegistry } from './kernel-steps.ts'
import { hasEnded, type KernelEntry } from './kernel-entry.ts'

const TRIES_MAX = 20

/**
 * Picks a port on which nothing on this machine listens, and which no other live kernel has been given: the program of
 * that kernel may not listen yet. Another process may take the port before the program binds it. The program then fails
 * and reports it.
 */
export async function choosePort<K extends KernelEntry>(
  registry: Pick<KernelRegistry<K>, 'kernels'>,
  kernel: K,
): Promise<void> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const port = await freePort()
    const given = [...registry.kernels.values()].some(
      (other) => other.port === port && other !== kernel && !hasEnded(other),
    )
    if (given) continue
    kernel.port = port
    return
  }
  throw new Error('no free port was found')
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0)
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}
