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

export async function killAll(pids: readonly number[]): Promise<void> {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // The process has ended in the meantime.
    }
  }
}
