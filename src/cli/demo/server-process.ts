import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

const PROGRAM = join(import.meta.dirname, '../../../bin/reprise.mjs')
const READY = /^reprise ready (?:(http:\/\/\S+)|\(roles .*\))$/
const READY_WITHIN_MS = 60_000
const STOPPED_WITHIN_MS = 30_000

export interface ServerProcess {
  /** URL of the server; empty without the role `api`. */
  url: string
  readyAfterMs: number
  pid: number
  /** Sends SIGKILL, so that the server cannot clean up. */
  kill(): Promise<void>
  /** Sends SIGTERM; returns the exit status. */
  stop(): Promise<number>
}

/** Returns this Node's flags for its young generation, which `spawn` does not pass on. */
export function heapFlags(): string[] {
  return process.execArgv.filter((flag) => flag.includes('semi-space-size'))
}

/**
 * Starts a server as a separate process, as a user would. Its log goes to `onLog`, and into the error if it does not
 * start.
 */
export async function startServer(options: {
  dataDir: string
  port: number
  onLog: (line: string) => void
  /** Additional configuration, which overrides the demo's. */
  env?: Readonly<Record<string, string>>
  /** Program to run instead of this one. */
  program?: string
}): Promise<ServerProcess> {
  const began = performance.now()
  const child = spawn(process.execPath, [...heapFlags(), options.program ?? PROGRAM, 'serve'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      REPRISE_DATA_DIR: options.dataDir,
      REPRISE_PORT: String(options.port),
      REPRISE_HOST: '127.0.0.1',
      REPRISE_DATABASE_URL: '',
      REPRISE_ROLES: '',
      REPRISE_SLOTS: 'cpu=8,mem=4g',
      REPRISE_LOG_FORMAT: 'json',
      ...options.env,
    },
  })
  const log: string[] = []
  createInterface({ input: child.stderr }).on('line', (line) => {
    log.push(line)
    options.onLog(line)
  })
  const url = await readyUrl(child, log)
  return {
    url,
    readyAfterMs: performance.now() - began,
    pid: child.pid!,
    async kill() {
      child.kill('SIGKILL')
      await exited(child)
    },
    async stop() {
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), STOPPED_WITHIN_MS)
      await exited(child)
      clearTimeout(timer)
      return child.exitCode ?? -1
    },
  }
}

export async function readAdminToken(dataDir: string): Promise<string> {
  return (await readFile(join(dataDir, 'admin-token'), 'utf8')).trim()
}

async function readyUrl(child: ChildProcess, log: readonly string[]): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const fail = (why: string) => reject(new Error([`the server ${why}; its log:`, ...log.slice(-20)].join('\n')))
  const timer = setTimeout(() => fail(`was not ready within ${READY_WITHIN_MS / 1000} s`), READY_WITHIN_MS)
  child.once('exit', (code, signal) => fail(`ended with ${code ?? signal} before it was ready`))
  createInterface({ input: child.stdout! }).on('line', (line) => {
    const match = READY.exec(line)
    if (match) resolve(match[1] ?? '')
  })
  return promise.finally(() => {
    clearTimeout(timer)
    child.removeAllListeners('exit')
  })
}

async function exited(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}

const LEAVES_WITHIN_MS = 5_000
const CHECK_INTERVAL_MS = 100

/**
 * Finds processes that stay for seconds. The fence's keeper needs a second to notice that the server is gone, and then
 * exits.
 */
export async function findLastingLeftovers(dataDir: string): Promise<number[]> {
  for (const since = performance.now(); ; await sleep(CHECK_INTERVAL_MS)) {
    const found = await findLeftovers(dataDir)
    if (found.length === 0 || performance.now() - since > LEAVES_WITHIN_MS) return found
  }
}

/** Number of scans without a process: enough for a process that is just being started to get its own environment. */
const QUIET_SCANS = 3
const KILLED_WITHIN_MS = 2_000

/** Kills all processes that use a data directory, and those that they start meanwhile, until none is left. */
export async function killLeftovers(dataDir: string): Promise<void> {
  const since = performance.now()
  for (let quiet = 0; quiet < QUIET_SCANS && performance.now() - since < KILLED_WITHIN_MS;) {
    const found = await findLeftovers(dataDir)
    killAll(found)
    quiet = found.length === 0 ? quiet + 1 : 0
    await sleep(CHECK_INTERVAL_MS / 2)
  }
}

/** Finds running processes that use a data directory, by their environment or command line. Linux only. */
export async function findLeftovers(dataDir: string): Promise<number[]> {
  const names = await readdir('/proc').catch(() => [])
  const pids = names.filter((name) => /^\d+$/.test(name)).map(Number)
  const found = await Promise.all(pids.map(async (pid) => ((await belongs(pid, dataDir)) ? [pid] : [])))
  return found.flat()
}

async function belongs(pid: number, dataDir: string): Promise<boolean> {
  if (pid === process.pid) return false
  const texts = await Promise.all(
    ['cmdline', 'environ'].map((file) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')),
  )
  return texts.some((text) => text.includes(dataDir))
}

export function killAll(pids: readonly number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // The process has ended in the meantime.
    }
  }
}
