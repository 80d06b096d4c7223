import { execFileSync } from 'node:child_process'

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
