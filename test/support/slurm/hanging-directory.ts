import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { findProgram } from '../distribution.ts'
import { eventually } from '../eventually.ts'

/** A call that is held longer than this is released: the test itself may be blocked by it. */
const HANGS_MAX_S = 60

/** A file system of its own, which answers nobody while it hangs, as one of a network whose server is away. */
export interface HangingDirectory extends AsyncDisposable {
  readonly path: string
  hang(): void
  goOn(): void
  /** Whether it went on by itself, because it hung for too long. */
  readonly overdue: boolean
}

/** Why there can be none here; null where there can. */
export function whyNoHangingDirectory(): string | null {
  if (findProgram('fuse-overlayfs') === null) return 'fuse-overlayfs is not installed'
  try {
    accessSync('/dev/fuse', constants.R_OK | constants.W_OK)
    return null
  } catch {
    return '/dev/fuse cannot be opened'
  }
}

export async function hangingDirectory(root: string): Promise<HangingDirectory> {
  const path = join(root, 'mount')
  for (const name of ['mount', 'lower', 'upper', 'work']) mkdirSync(join(root, name))
  const options = `lowerdir=${root}/lower,upperdir=${root}/upper,workdir=${root}/work`
  const daemon = spawn(findProgram('fuse-overlayfs')!, ['-f', '-o', options, path], { stdio: 'ignore' })
  const isMounted = () => statSync(path).dev !== statSync(root).dev
  await eventually(() => {
    if (daemon.exitCode !== null) throw new Error(`fuse-overlayfs has ended with ${daemon.exitCode}`)
    return isMounted()
  })
  const mark = join(root, 'overdue')
  let rescue: ChildProcess | null = null

  function goOn(): void {
    if (rescue?.exitCode === null) process.kill(-rescue.pid!, 'SIGKILL')
    rescue = null
    daemon.kill('SIGCONT')
  }

  return {
    path,
    hang() {
      const script = `sleep ${HANGS_MAX_S}; : >"$2"; kill -CONT "$1"`
      rescue = spawn('sh', ['-c', script, 'sh', String(daemon.pid), mark], { stdio: 'ignore', detached: true })
      daemon.kill('SIGSTOP')
    },
    goOn,
    get overdue() {
      return existsSync(mark)
    },
    async [Symbol.asyncDispose]() {
      goOn()
      await eventually(() => !isMounted() || spawnSync('umount', [path]).status === 0)
      daemon.kill('SIGKILL')
    },
  }
}
