import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'

const CLOCK_PROGRAM = join(import.meta.dirname, 'clock-program.ts')
const PRELOAD = join(import.meta.dirname, 'moved-clock.ts')
const UPTIME = '/proc/uptime'
/** In a mount namespace of its own: the machine's uptime stays readable, and the moved one takes its place. */
const ENTER = `mount --bind ${UPTIME} "$1" && mount --bind "$2" ${UPTIME} && shift 2 && exec "$@"`

/** One clock for servers, agents, what agents start, and clients, which can be moved ahead. */
export interface MovedClock extends AsyncDisposable {
  /** The variable that programs need which import PRELOAD. */
  readonly environment: { MOVED_CLOCK: string }
  /** For `node`: imports the clock first. */
  readonly nodeArguments: readonly string[]
  /** The machine's own uptime, for programs below `command`. */
  readonly machineUptime: string
  /** A command whose process tree also reads the moved time from `/proc/uptime`; its process becomes the given one. */
  command(...command: readonly string[]): string[]
  /** How far it is ahead, in milliseconds. */
  ahead(): number
  /** Resolves when the clock shows it; programs notice within some 20 ms. */
  move(aheadMs: number): Promise<void>
}

/** Why a clock cannot be moved here; null if it can. */
export async function whyNoMovedClock(): Promise<string | null> {
  if (process.platform !== 'linux') return 'needs Linux'
  const attempt = ['--mount', 'mount', '--bind', `/proc/${process.pid}/comm`, UPTIME]
  return promisify(execFile)('unshare', attempt).then(
    () => null,
    (error: Error) => `needs the right to mount: ${error.message.trim().split('\n').at(-1)}`,
  )
}

export async function startMovedClock(directory: string): Promise<MovedClock> {
  const [file, machineUptime] = [join(directory, 'moved-clock'), join(directory, 'machine-uptime')]
  for (const path of [file, machineUptime]) await writeFile(path, '')
  const clock = spawn(process.execPath, [CLOCK_PROGRAM, file], { stdio: ['pipe', 'pipe', 'inherit'] })
  const shown = createInterface({ input: clock.stdout })[Symbol.asyncIterator]()
  let ahead = 0
  async function move(aheadMs: number): Promise<void> {
    clock.stdin.write(`${aheadMs}\n`)
    const { value, done } = await shown.next()
    if (done || Number(value) !== aheadMs) throw new Error(`the clock shows ${value}, not ${aheadMs}`)
    ahead = aheadMs
  }
  await move(0)
  return {
    environment: { MOVED_CLOCK: file },
    nodeArguments: ['--import', PRELOAD],
    machineUptime,
    command: (...command) => {
      const comm = `/proc/${clock.pid}/comm`
      return ['unshare', '--mount', 'sh', '-c', ENTER, 'moved', machineUptime, comm, ...command]
    },
    ahead: () => ahead,
    move,
    async [Symbol.asyncDispose]() {
      const gone = once(clock, 'exit')
      clock.stdin.end()
      await gone
    },
  }
}
