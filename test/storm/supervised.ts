import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { openSync, closeSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { now, type StormRecord } from './records.ts'

/** As a service manager would: a process that ends is started again. */
const RESTART_PAUSE_MS = 500
const STOPPED_WITHIN_MS = 60_000
const LOG_LINES = 12

/** A program of ours that runs for as long as the storm, whatever happens to its processes. */
export interface Supervised {
  readonly name: string
  /** Of the process that runs now. */
  pid(): number | null
  /** SIGKILL; it is started again when `restart` is called. */
  kill(): Promise<void>
  restart(): void
  /** To the process that runs now, if there is one. */
  signal(name: NodeJS.Signals): void
  /** For good, with SIGTERM. */
  stop(): Promise<void>
}

export function supervise(options: {
  name: string
  command: readonly string[]
  environment: NodeJS.ProcessEnv
  logFile: string
  record: (record: StormRecord) => void
}): Supervised {
  const { name, command, environment, logFile, record } = options
  const [program, ...args] = command as [string, ...string[]]
  let child: ChildProcess | null = null
  /** Nobody wants a process now. */
  let resting = false
  let stopping = false

  function start(): void {
    if (child !== null || resting || stopping) return
    const log = openSync(logFile, 'a')
    const started = spawn(program, args, { env: environment, stdio: ['ignore', log, log] })
    closeSync(log)
    child = started
    started.once('exit', (status, signal) => void ended(status, signal))
  }

  async function ended(status: number | null, signal: string | null): Promise<void> {
    child = null
    const wanted = resting || (stopping && status === 0)
    const lines = wanted ? [] : (await readFile(logFile, 'utf8')).trimEnd().split('\n').slice(-LOG_LINES)
    record({ kind: 'exit', at: now(), process: name, wanted, status, signal, log: lines })
    if (resting || stopping) return
    await sleep(RESTART_PAUSE_MS)
    start()
  }

  start()
  return {
    name,
    pid: () => child?.pid ?? null,
    async kill() {
      resting = true
      const dying = child
      if (dying === null) return
      dying.kill('SIGKILL')
      if (child === dying) await once(dying, 'exit')
    },
    restart() {
      resting = false
      start()
    },
    signal: (signal) => void child?.kill(signal),
    async stop() {
      stopping = true
      const dying = child
      if (dying === null) return
      dying.kill('SIGTERM')
      const overdue = setTimeout(() => dying.kill('SIGKILL'), STOPPED_WITHIN_MS)
      if (child === dying) await once(dying, 'exit')
      clearTimeout(overdue)
    },
  }
}
