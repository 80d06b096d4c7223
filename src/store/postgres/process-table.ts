import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { systemProgram } from '../../machine/system-programs.ts'

const execute = promisify(execFile)

export function isAlive(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/**
 * Whether `pid` is a running PostgreSQL. After a reboot or in a new container, a number from a pid file may belong to
 * any program, and a process that has exited but has not been reaped still has its number.
 */
export async function isPostgres(pid: number): Promise<boolean> {
  if (!isAlive(pid)) return false
  if (process.platform === 'linux') {
    const commandLine = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    return commandLine.includes('postgres')
  }
  if (process.platform === 'win32') return true
  const list = execute(systemProgram('ps'), ['-o', 'command=', '-p', String(pid)], { env: {} })
  const { stdout } = await list.catch(() => ({ stdout: '' }))
  return stdout.includes('postgres')
}
