import type { AgentIsolation, AgentVolume } from '../domain/agent/protocol.ts'
import type { Warning } from '../domain/warning.ts'
import type { Logger } from '../observability/log.ts'
import type { Executor, ExecutorHooks } from './executors/executor.ts'
import { createNoopExecutor } from './executors/noop-executor.ts'
import { createProcessExecutor, type MemoryLimitMode } from './executors/process/process-executor.ts'
import type { IsolationMode } from './executors/process/isolation/isolation.ts'
import type { UidRange } from './executors/process/isolation/project-uids.ts'
import { decideIsolation } from './executors/process/isolation/decide-isolation.ts'
import { chooseContainer, type ContainerConfig } from './executors/container/choose-container.ts'
import { findGpus } from './gpus/find-gpus.ts'
import { chooseSlurm, type SlurmConfig } from './executors/slurm/choose-slurm.ts'

export interface ExecutorConfig extends SlurmConfig, ContainerConfig {
  executor: 'process' | 'container' | 'slurm' | 'noop'
  agentMemoryLimit: MemoryLimitMode
  isolation: IsolationMode
  isolationUids?: UidRange | undefined
  kernelProcesses: number
  kernelOpenFiles: number
  chainsDir?: string | undefined
  chainBytesMax: number | null
  chainFilesMax: number | null
}

export interface ChosenExecutor {
  isolation: AgentIsolation
  /** Slots that the executor has found. If missing, the agent offers those of the machine. */
  slots?: Record<string, string>
  /** Slots of GPUs, which the agent offers beside the others. */
  gpuSlots?: Record<string, string>
  /** Slots that a single kernel can have. If missing, a kernel can have all of them. */
  slotsPerKernelMax?: Record<string, string>
  /** Whether others can reach ports of its kernels. If missing, they can. */
  ports?: boolean
  /** Directories that its kernels can ask for by name. If missing, there are none. */
  volumes?: AgentVolume[]
  /** Warnings for the people who run this agent. */
  warnings?: Warning[]
  /** See AgentOptions. */
  guardIsolation?(tell: (reason: string | null) => void): { close(): void }
  create(hooks: ExecutorHooks, agentId: string): Executor
}

const NOT_ISOLATED =
  "kernels are not isolated (REPRISE_ISOLATION): sessions of every project run as the agent's user, and can read its files, its data directory and a database in there"

const NOT_ENFORCED =
  'GPUs are assigned, not enforced: without namespaces (REPRISE_ISOLATION), a program can open the GPUs of others'

/**
 * Chooses the configured executor and its isolation, which the agent reports when it registers.
 *
 * @param hide paths that no kernel may see, besides `dataDir`
 * @throws ExecutorSetupError if the configured cluster or container engine cannot be used from here
 * @throws IsolationError if the configured isolation does not work here
 * @throws IsolationUndecidedError if that cannot be determined now
 */
export async function chooseExecutor(
  config: ExecutorConfig,
  places: { dataDir: string; agentDir: string; hide: readonly string[] },
  log: Logger,
): Promise<ChosenExecutor> {
  if (config.executor === 'noop') return { isolation: { name: 'noop', byHand: false }, create: createNoopExecutor }
  if (config.executor === 'slurm') return chooseSlurm(config, places.agentDir, log)
  if (config.executor === 'container') return chooseContainer(config, places.agentDir, log)
  const { isolation: mode, isolationUids: uids } = config
  const { isolation, name, faults, guard } = await decideIsolation({ ...places, mode, uids })
  const isOpen = name === 'none' && mode === 'auto'
  log.info({ ...(isOpen && { faults }) }, `isolation of kernels: ${name}`)
  const { kernelProcesses: processes, kernelOpenFiles: openFiles } = config
  const { chainBytesMax: chainBytes, chainFilesMax: chainFiles } = config
  const limits = { processes, openFiles, chainBytes, chainFiles }
  const { agentDir } = places
  const gpus = await findGpus(config, agentDir, log)
  const warnings = [
    ...(isOpen ? [{ kind: 'isolation', text: NOT_ISOLATED } as const] : []),
    ...(gpus?.known === true && isolation.namespaces === null ? [{ kind: 'gpus', text: NOT_ENFORCED } as const] : []),
  ]
  const { agentMemoryLimit: memoryLimit, chainsDir, uploadBytesMax: codeBytesMax } = config
  return {
    isolation: { name, byHand: mode !== 'auto' },
    ...(warnings.length > 0 && { warnings }),
    ...(gpus !== null && { gpuSlots: gpus.offered() }),
    ...(guard !== undefined && { guardIsolation: guard }),
    create: (hooks) =>
      createProcessExecutor({ agentDir, chainsDir, log, memoryLimit, isolation, limits, codeBytesMax, gpus }, hooks),
  }
}
