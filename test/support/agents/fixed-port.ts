import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below the ports that systems assign automatically (from 32768 on Linux, from 49152 elsewhere). */
const FIRST = 12_000
const COUNT = 20_000

/** A free port for a server that is restarted on it: no other process is assigned it in the meantime. */
export async function fixedPort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT)
    const probe = createServer()
    try {
      const listening = once(probe, 'listening')
      probe.listen(port, '127.0.0.1')
      await listening
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') continue
      throw error
    }
    const closed = once(probe, 'close')
    probe.close()
    await closed
    return port
  }
}
