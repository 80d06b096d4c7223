import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ExecutorHooks } from '../../../src/agent/executors/executor.ts'
import {
  createProcessExecutor,
  type ProcessExecutorOptions,
} from '../../../src/agent/executors/process/process-executor.ts'
import { readStatus } from '../../../src/agent/executors/kernels/kernel-directory.ts'
import { parseStatus } from '../../../src/agent/executors/kernels/shim-status.ts'
import { createLogger } from '../../../src/observability/log.ts'
import { eventually } from '../../support/eventually.ts'
import type { Commands, ExecutorFixture } from './executor-subject.ts'
import { type Arrangement, isolationOf } from './isolation-of.ts'

/** A program with SIGTERM's usual effect whose children are in its process group and in a session of their own. */
const family = (how: 'saves' | 'stubborn') => {
  const onTerm = how === 'saves' ? 'sleep 0.3; echo saved; exit' : ':'
  const child = `trap "${onTerm}" TERM; echo ready; while :; do sleep 0.05; done`
  return ['sh', '-c', `sh -c '${child}' & setsid sh -c '${child}' & exec sleep 1000`]
}

export const processCommands: Commands = {
  succeed: ['true'],
  exit: (code) => ['sh', '-c', `exit ${code}`],
  hang: ['sleep', '1000'],
  stubborn: ['sh', '-c', 'trap "" TERM; echo ready; while :; do sleep 0.05; done'],
  family,
  print: (text) => ['echo', text],
  outOfMemory: { command: ['sh', '-c', 'head -c 400000000 /dev/zero | tail'], mem: String(48 * 1024 * 1024) },
  vanish: ['sh', '-c', 'kill -KILL 0'],
  shell: (script) => ['sh', '-c', script],
}

export const testLog = await createLogger({ level: 'silent', format: 'json' })

export interface ProcessFixture extends ExecutorFixture {
  agentDir: string
}

type Options = Pick<ProcessExecutorOptions, 'memoryLimit' | 'cgroupMount' | 'limits'> & {
  arrangement?: Arrangement
  /** The parent of its directory. */
  under?: string
}

export async function createProcessFixture({
  arrangement,
  under = tmpdir(),
  ...options
}: Options = {}): Promise<ProcessFixture> {
  const agentDir = await mkdtemp(join(under, 'reprise-executor-'))
  const isolation = await isolationOf(arrangement ?? 'none', agentDir)
  const confined = isolation.namespaces !== null || isolation.uids !== null
  const all = { agentDir, log: testLog, memoryLimit: 'auto', isolation, ...options } as const
  return {
    agentDir,
    commands: { ...processCommands, ...(confined && { vanish: processCommands.hang }) },
    missingImage: 'no-such-image:latest',
    ...(confined && { killFromOutside: (kernelId: string) => killShim(agentDir, kernelId) }),
    create: (hooks: ExecutorHooks) => createProcessExecutor(all, hooks),
    dispose: () => rm(agentDir, { recursive: true, force: true, maxRetries: 5 }),
  }
}

/** Its process group, as somebody with the right to do so would. */
async function killShim(agentDir: string, kernelId: string): Promise<void> {
  const { shim } = await eventually(() => {
    const status = parseStatus(readStatus(join(agentDir, 'kernels', kernelId)))
    return status.shim !== null && status
  })
  process.kill(-shim!.pid, 'SIGKILL')
}
