import { execFileSync, spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'

/** Why a test can mount nothing here; null if it can. */
export function whyNoMounts(): string | null {
  const probe = ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']
  try {
    if (process.getuid!() !== 0) return 'only root may mount'
    execFileSync('unshare', probe, { stdio: 'ignore' })
    return null
  } catch {
    return 'nothing may be mounted here'
  }
}

/** Detaches every file system that is mounted below `directory`, for example by a test that was cut off. */
export async function unmountBelow(directory: string): Promise<void> {
  const mounts = await readFile('/proc/self/mounts', 'utf8').catch(() => '')
  const targets = mounts.split('\n').map((line) => line.split(' ')[1] ?? '')
  for (const target of targets.toReversed()) {
    if (target.startsWith(`${directory}/`)) spawnSync('umount', ['--lazy', target])
  }
}
