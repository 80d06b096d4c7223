import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { v7 as uuidv7 } from 'uuid'
import type { Executor, ExecutorHooks } from '../../../src/agent/executors/executor.ts'
import { createSlurmExecutor } from '../../../src/agent/executors/slurm/slurm-executor.ts'
import type { SlurmOptions } from '../../../src/agent/executors/slurm/slurm-host.ts'
import { readControlFile } from '../../../src/agent/control-file.ts'
import { eventually } from '../../support/eventually.ts'
import { canLimitMemory, type SlurmCluster } from '../../support/slurm/slurm-cluster.ts'
import type { ExecutorFixture } from './executor-subject.ts'
import { processCommands, testLog } from './process-fixture.ts'

/** A lease that no test outlives. */
export const LONG_FENCE_MS = 600_000
/** With it nothing is submitted. */
export const TOO_SHORT_MS = 20_000

const DEFAULTS = {
  partition: 'main',
  accounts: {},
  users: null,
  gres: {},
  queueFactor: 1,
  queueJobs: 1_000,
  pollMs: 500,
  capacityMs: 60_000,
  images: {},
  args: [],
}

export interface SlurmFixture extends ExecutorFixture {
  readonly agentId: string
  /** The directory that agent and nodes share. */
  readonly root: string
  readonly slurm: SlurmOptions
  kernel(kernelId: string): string
  create(hooks: ExecutorHooks, more?: Partial<SlurmOptions>): Executor
}

/** SLURM_CONF of this process has to name the cluster. */
export async function createSlurmFixture(
  cluster: SlurmCluster,
  overrides: Partial<SlurmOptions> = {},
): Promise<SlurmFixture> {
  const directory = await mkdtemp(join(cluster.shared, 'agent-'))
  await chmod(directory, 0o711)
  const agentId = uuidv7()
  const slurm = { ...DEFAULTS, directory, ...overrides }
  return {
    agentId,
    slurm,
    root: join(directory, agentId),
    kernel: (kernelId) => join(directory, agentId, 'kernels', kernelId),
    commands: {
      ...processCommands,
      vanish: ['sleep', '1000'],
      outOfMemory: canLimitMemory() ? processCommands.outOfMemory : null,
    },
    servesNothing: true,
    missingImage: 'no-such-image:latest',
    killFromOutside: (kernelId) => killJobScript(join(directory, agentId, 'kernels', kernelId), slurm.users !== null),
    create(hooks: ExecutorHooks, more: Partial<SlurmOptions> = {}): Executor {
      const executor = createSlurmExecutor(
        { agentDir: directory, agentId, log: testLog, codeBytesMax: 1024 ** 3, slurm: { ...slurm, ...more } },
        hooks,
      )
      executor.renewed?.(LONG_FENCE_MS)
      return executor
    },
    dispose: () => rm(directory, { recursive: true, force: true, maxRetries: 5 }),
  }
}

/** The batch script, as somebody with the right to do so would: the parent of what it runs. */
async function killJobScript(path: string, ofUser: boolean): Promise<void> {
  const status = join(path, ofUser ? 'job' : '', 'status')
  await eventually(() => (readControlFile(status) ?? '').includes('began'))
  const pid = await eventually(async () => {
    const { readdir, readFile, readlink } = await import('node:fs/promises')
    for (const each of await readdir('/proc')) {
      const cwd = await readlink(`/proc/${each}/cwd`).catch(() => '')
      if (cwd !== join(path, 'work')) continue
      const stat = await readFile(`/proc/${each}/stat`, 'utf8').catch(() => '')
      return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
    }
    return null
  })
  process.kill(pid, 'SIGKILL')
}
