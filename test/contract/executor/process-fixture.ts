import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ExecutorHooks } from '../../../src/agent/executors/executor.ts'
import type { MemoryLimitMode } from '../../../src/agent/executors/process/create-process-host.ts'
import { createProcessExecutor } from '../../../src/agent/executors/process/process-executor.ts'
import { createLogger } from '../../../src/observability/log.ts'
import type { Commands, ExecutorFixture } from './executor-subject.ts'

export const processCommands: Commands = {
  succeed: ['true'],
  exit: (code) => ['sh', '-c', `exit ${code}`],
  hang: ['sleep', '1000'],
  stubborn: ['sh', '-c', 'trap "" TERM; echo ready; while :; do sleep 0.05; done'],
  print: (text) => ['echo', text],
  outOfMemory: { command: ['sh', '-c', 'head -c 400000000 /dev/zero | tail'], mem: String(48 * 1024 * 1024) },
  vanish: ['sh', '-c', 'kill -KILL 0'],
}

export const testLog = await createLogger({ level: 'silent', format: 'json' })

export interface ProcessFixture extends ExecutorFixture {
  agentDir: string
}

export async function createProcessFixture(memoryLimit: MemoryLimitMode = 'auto'): Promise<ProcessFixture> {
  const agentDir = await mkdtemp(join(tmpdir(), 'reprise-executor-'))
  return {
    agentDir,
    commands: processCommands,
    missingImage: 'no-such-image:latest',
    create: (hooks: ExecutorHooks) => createProcessExecutor({ agentDir, log: testLog, memoryLimit }, hooks),
    dispose: () => rm(agentDir, { recursive: true, force: true, maxRetries: 5 }),
  }
}
