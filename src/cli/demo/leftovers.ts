import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

const LEAVES_WITHIN_MS = 5_000
const CHECK_INTERVAL_MS = 100

/** Those that stay: the keeper of the fence looks once a second whether the server is gone, and leaves then. */
export async function findLastingLeftovers(dataDir: string): Promise<number[]> {
  for (const since = performance.now(); ; await sleep(CHECK_INTERVAL_MS)) {
    const found = await findLeftovers(dataDir)
    if (found.length === 0 || performance.now() - since > LEAVES_WITHIN_MS) return found
  }
}

/** Long enough for a process that was being started to have its own environment. */
const QUIET_SCANS = 3
const KILLED_WITHIN_MS = 2_000

/** Kills all that uses a data directory, and what that starts meanwhile, until nothing is left. */
export async function killLeftovers(dataDir: string): Promise<void> {
  const since = performance.now()
  for (let quiet = 0; quiet < QUIET_SCANS && performance.now() - since < KILLED_WITHIN_MS;) {
    const found = await findLeftovers(dataDir)
    killAll(found)
    quiet = found.length === 0 ? quiet + 1 : 0
    await sleep(CHECK_INTERVAL_MS / 2)
  }
}

/** Running processes that use a data directory, by their environment or command line. Linux only. */
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
