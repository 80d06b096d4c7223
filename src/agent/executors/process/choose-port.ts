import { once } from 'node:events'
import { createServer } from 'node:net'
import { hasEnded, type ProcessKernel } from './process-kernel.ts'
import type { ProcessHost } from './process-host.ts'

const TRIES_MAX = 20

/**
 * A port on which nothing of this machine listens, and none that another kernel at hand was given: its program may not
 * listen yet. Between the look and the program's own bind somebody else may take it: the program then fails, and says so.
 */
export async function choosePort(host: ProcessHost, kernel: ProcessKernel): Promise<void> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const port = await freePort()
    const given = [...host.kernels.values()].some(
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
