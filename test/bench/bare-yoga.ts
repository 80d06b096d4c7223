import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const PROGRAM = fileURLToPath(new URL('bare-yoga-program.ts', import.meta.url))

export interface BareYoga {
  url: string
  stop(): Promise<void>
}

/** In a process of its own and in production, as our server is. */
export async function startBareYoga(session: unknown): Promise<BareYoga> {
  const stdio = ['ignore', 'pipe', 'inherit'] as const
  const env = { ...process.env, NODE_ENV: 'production' }
  const child = spawn(process.execPath, [PROGRAM, JSON.stringify(session)], { stdio: [...stdio], env })
  const ended = once(child, 'exit')
  const said = once(createInterface({ input: child.stdout }), 'line')
  const url = await Promise.race([said, ended.then(() => Promise.reject(new Error('bare Yoga did not start')))])
  return {
    url: url[0],
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
  }
}
