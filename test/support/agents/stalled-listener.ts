import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'

const PROGRAM = `const server = require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () =>
  console.log(server.address().port))`

/** The state in the format of /proc/net/tcp. */
const SYN_SENT = '02'

export interface StalledListener {
  url: string
  /** Whether a client is waiting for an answer to its SYN. Linux only. */
  isConnecting(): boolean
  close(): void
}

/** A port that accepts no connection: its queue is full, and its listener is stopped. */
export async function startStalledListener(): Promise<StalledListener> {
  const child = spawn(process.execPath, ['-e', PROGRAM], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  const port = Number(line.toString())
  child.kill('SIGSTOP')
  const queue: Socket[] = []
  // The queue holds one more than the backlog; further connection attempts are not answered.
  for (let i = 0; i < 2; i++) {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    queue.push(socket)
    await once(socket, 'connect')
  }
  return {
    url: `http://127.0.0.1:${port}`,
    isConnecting() {
      const remote = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`
      return readFileSync('/proc/net/tcp', 'utf8').includes(`${remote} ${SYN_SENT}`)
    },
    close() {
      child.kill('SIGKILL')
      for (const socket of queue) socket.destroy()
    },
  }
}
