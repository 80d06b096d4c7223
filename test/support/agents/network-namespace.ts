import { execFile, execFileSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { readlink } from 'node:fs/promises'
import { promisify } from 'node:util'
import { eventually } from '../eventually.ts'

const run = promisify(execFile)

/** Why network namespaces cannot be used here; null if they can. */
export function whyNoNamespaces(): string | null {
  if (process.platform !== 'linux') return 'only Linux has them'
  if (process.getuid!() !== 0) return 'they need root'
  try {
    execFileSync('unshare', ['-n', 'ip', 'link', 'show', 'lo'], { stdio: 'ignore' })
    const [one, other] = linkNames()
    execFileSync('ip', ['link', 'add', one, 'type', 'veth', 'peer', 'name', other], { stdio: 'ignore' })
    execFileSync('ip', ['link', 'del', one], { stdio: 'ignore' })
    return null
  } catch (error) {
    return `unshare and ip cannot make them: ${(error as Error).message.split('\n')[0]}`
  }
}

/** A virtual cable to a process in a network namespace of its own. */
export interface Cable {
  /** Address of this end. */
  readonly address: string
  /** Command prefix that starts the process in the namespace. */
  readonly through: readonly string[]
  /** Moves the other end into the process's namespace. */
  plug(pid: number): Promise<void>
  /** `down`: packets are dropped silently. */
  set(state: 'up' | 'down'): Promise<void>
  remove(): Promise<void>
}

/** Namespace and cable disappear with the last process in the namespace. */
export async function layCable(): Promise<Cable> {
  const [here, there] = linkNames()
  const subnet = `10.213.${randomInt(256)}`
  const ip = (...args: string[]) => run('ip', args)
  await ip('link', 'add', here, 'type', 'veth', 'peer', 'name', there)
  await ip('addr', 'add', `${subnet}.1/30`, 'dev', here)
  await ip('link', 'set', here, 'up')
  return {
    address: `${subnet}.1`,
    through: ['unshare', '-n'],
    async plug(pid) {
      // Until the process has its own namespace, the other end would stay in this one.
      await eventually(async () => (await namespaceOf(pid)) !== (await namespaceOf('self')))
      await ip('link', 'set', there, 'netns', String(pid))
      const inside = (...args: string[]) => run('nsenter', ['-t', String(pid), '-n', 'ip', ...args])
      await inside('addr', 'add', `${subnet}.2/30`, 'dev', there)
      await inside('link', 'set', there, 'up')
    },
    async set(state) {
      await ip('link', 'set', here, state)
    },
    async remove() {
      await ip('link', 'del', here).catch(() => {})
    },
  }
}

function namespaceOf(pid: number | 'self'): Promise<string> {
  return readlink(`/proc/${pid}/ns/net`)
}

function linkNames(): [string, string] {
  const name = `rp${randomInt(1_000_000)}`
  return [`${name}a`, `${name}b`]
}
