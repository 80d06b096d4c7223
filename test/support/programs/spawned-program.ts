import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { heapFlags } from '../../../src/cli/demo/server-process.ts'

/** Only ends what hangs: programs start in 3 s, and in 10 s on a busy machine. */
const READY_WITHIN_MS = 200_000
const STOPPED_WITHIN_MS = 30_000

export interface SpawnedProgram {
  readonly pid: number
  /** The text that the first group of the pattern matched. */
  readonly ready: string
  /** The newest lines of both outputs. */
  readonly log: readonly string[]
  /** SIGKILL, without a chance to clean up. */
  kill(): Promise<void>
  /** SIGTERM; returns the exit status. */
  stop(): Promise<number | null>
}

/** Starts one of our programs as a process, and waits until it prints a line that matches. */
export async function spawnProgram(options: {
  /** A command prefix that starts it; it must become the program (exec), not a parent of it. */
  through?: readonly string[]
  args: readonly string[]
  /** Only these of our own variables are set. */
  environment: Record<string, string>
  ready: RegExp
  /** Called before it is ready. */
  spawned?: (pid: number) => Promise<void>
}): Promise<SpawnedProgram> {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('REPRISE_'))
  const env = { ...Object.fromEntries(inherited), REPRISE_LOG_FORMAT: 'json', ...options.environment }
  const [program, ...args] = [...(options.through ?? []), process.execPath, ...heapFlags(), ...options.args]
  const child = spawn(program!, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const log: string[] = []
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      log.push(line)
      if (log.length > 200) log.shift()
      const match = options.ready.exec(line)
      if (match) resolve(match[1]!)
    })
  }
  const fail = (why: string) => reject(new Error([`${options.args.join(' ')} ${why}:`, ...log].join('\n')))
  const exited = once(child, 'exit')
  void exited.then(() => fail(`ended with ${child.exitCode ?? child.signalCode}`))
  const timer = setTimeout(() => {
    fail('was not ready in time')
    // It would keep its port from the next one.
    child.kill('SIGKILL')
  }, READY_WITHIN_MS)
  await options.spawned?.(child.pid!)
  const ready = await promise.finally(() => clearTimeout(timer))
  return {
    pid: child.pid!,
    ready,
    log,
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
    async stop() {
      child.kill('SIGTERM')
      const overdue = setTimeout(() => child.kill('SIGKILL'), STOPPED_WITHIN_MS)
      await exited
      clearTimeout(overdue)
      return child.exitCode
    },
  }
}
