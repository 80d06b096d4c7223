import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { BenchGround } from '../ground.ts'

/** Installs the peers that are no dependencies of this project, if they are not there yet. */
export async function installPeers({ progress, signal }: BenchGround): Promise<void> {
  if (existsSync(join(import.meta.dirname, 'node_modules'))) return
  progress('npm ci: DBOS, BullMQ and pg-boss, once')
  await promisify(execFile)('npm', ['ci'], { cwd: import.meta.dirname, signal })
}
