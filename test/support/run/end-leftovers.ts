import { readdir, readFile, readlink } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

const POSTGRES_STOP_MS = 5_000

interface Leftover {
  pid: number
  command: string
}

/** Ends every process that belongs to `directory`, and returns descriptions of them. Needs /proc. */
export async function endLeftovers(directory: string): Promise<string[]> {
  if (process.platform !== 'linux') return []
  const found = await processesOf(directory)
  // PostgreSQL releases its shared memory only if it ends by itself; SIGQUIT makes it do so at once.
  for (const { pid, command } of found) signal(pid, isPostmaster(command) ? 'SIGQUIT' : 'SIGKILL')
  const deadline = performance.now() + POSTGRES_STOP_MS
  for (;;) {
    const rest = await processesOf(directory)
    if (rest.length === 0) break
    if (performance.now() > deadline) for (const { pid } of rest) signal(pid, 'SIGKILL')
    await sleep(20)
  }
  return found.map(({ pid, command }) => `${pid} ${command.slice(0, 200)}`)
}

function isPostmaster(command: string): boolean {
  return /\/postgres -D /.test(command)
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // The process has ended in the meantime.
  }
}

async function processesOf(directory: string): Promise<Leftover[]> {
  const pids = (await readdir('/proc')).map(Number).filter((pid) => pid > 1 && pid !== process.pid)
  const processes = await Promise.all(
    pids.map(async (pid) => {
      const [command, environment, cwd] = await Promise.all([
        readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''),
        readFile(`/proc/${pid}/environ`, 'utf8').catch(() => ''),
        readlink(`/proc/${pid}/cwd`).catch(() => ''),
      ])
      // A zombie process has no command line any more.
      const belongs = command !== '' && [command, environment, cwd].some((where) => where.includes(directory))
      return belongs ? [{ pid, command: command.replaceAll('\0', ' ').trim() }] : []
    }),
  )
  return processes.flat()
}
