import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { processesNaming } from './processes.ts'

/** A file for which commands wait, and whose path tells their processes from others. */
export function signalFile(agentDir: string): {
  path: string
  wait: string
  write(): Promise<void>
  waiting(): string[]
} {
  const path = join(agentDir, 'go')
  return {
    path,
    wait: `until [ -e ${path} ]; do sleep 0.02; done`,
    write: () => writeFile(path, ''),
    waiting: () => processesNaming(path),
  }
}
