import { readdir, readFile, readlink } from 'node:fs/promises'

const TICKS_PER_SECOND = 100

/**
 * CPU seconds that the processes of a directory have used so far, with those of their children that have ended; null
 * without /proc. A process belongs to the directory if it works in it or has its path in the environment.
 */
export async function readCpuSeconds(directory: string, except: ReadonlySet<number>): Promise<number | null> {
  if (process.platform !== 'linux') return null
  const pids = (await readdir('/proc')).map(Number).filter((pid) => pid > 1 && !except.has(pid))
  const ticks = await Promise.all(pids.map((pid) => ticksOf(pid, directory)))
  return ticks.reduce((sum, each) => sum + each, 0) / TICKS_PER_SECOND
}

async function ticksOf(pid: number, directory: string): Promise<number> {
  try {
    const belongs =
      (await readlink(`/proc/${pid}/cwd`)).startsWith(directory) ||
      (await readFile(`/proc/${pid}/environ`, 'utf8')).includes(directory)
    if (!belongs) return 0
    const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ').at(-1)!.split(' ')
    return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
  } catch {
    // It has ended.
    return 0
  }
}
