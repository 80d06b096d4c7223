import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { BenchGround } from '../ground.ts'

/** npm writes it at the end of an installation. */
const INSTALLED = join(import.meta.dirname, 'node_modules/.package-lock.json')

/** Installs the peers that are not dependencies of this project, if they are not there yet. */
export async function installPeers({ progress, signal }: BenchGround): Promise<void> {
  if (existsSync(INSTALLED)) return
  progress('npm ci: installs pg-boss, DBOS and BullMQ, only this once')
  await promisify(execFile)('npm', ['ci'], { cwd: import.meta.dirname, signal })
}
