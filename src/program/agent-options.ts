import { join, resolve } from 'node:path'
import { ChainStoreError } from '../agent/executors/chain/chain-store.ts'
import type { Agent, AgentOptions } from '../agent/agent.ts'
import { chooseExecutor, type ChosenExecutor } from '../agent/create-executor.ts'
import { isPassing } from '../agent/disk-watch.ts'
import { ExecutorSetupError } from '../agent/executors/executor.ts'
import { IsolationError, IsolationUndecidedError } from '../agent/executors/process/isolation/isolation.ts'
import { type Config, ConfigurationError } from './config.ts'
import { messageOf } from '../observability/error-message.ts'
import type { Logger } from '../observability/log.ts'
import { wait } from '../waiting/wait.ts'
import { availableParallelism, totalmem } from 'node:os'

/**
 * Returns the options of an agent from the configuration, embedded in a server or standalone.
 *
 * @throws ConfigurationError if the configured isolation, cluster or container engine does not work here
 */
export async function agentOptions(
  config: Config,
  version: string,
  log: Logger,
): Promise<Omit<AgentOptions, 'gateway'>> {
  const dataDir = resolve(config.dataDir)
  const agentDir = join(dataDir, 'agent')
  const { isolation, create, slots, slotsPerKernelMax, gpuSlots, ports, volumes, warnings, guardIsolation } =
    await choose(config, { dataDir, agentDir }, log)
  return {
    createExecutor: (hooks, agentId) => orConfigurationError(() => create(hooks, agentId)),
    isolation,
    ...(guardIsolation !== undefined && { guardIsolation }),
    agentDir,
    name: config.agentName,
    resourceGroup: config.resourceGroup,
    address: config.agentAddress,
    version,
    slots: config.slots ?? { ...(slots ?? detectSlots()), ...gpuSlots },
    slotsByHand: config.slots !== undefined,
    ...(slotsPerKernelMax !== undefined && { slotsPerKernelMax }),
    ...(ports !== undefined && { ports }),
    ...(volumes !== undefined && { volumes }),
    ...(warnings !== undefined && { warnings }),
    labels: config.agentLabels,
    log,
  }
}

function orConfigurationError<Result>(work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    if (error instanceof ChainStoreError || error instanceof ExecutorSetupError)
      throw new ConfigurationError([error.message])
    throw error
  }
}

async function choose(
  config: Config,
  places: { dataDir: string; agentDir: string },
  log: Logger,
): Promise<ChosenExecutor> {
  try {
    const hide = [
      ...filesOf(config),
      checkpointDirectory(config, places.dataDir),
      blobDirectory(config, places.dataDir),
      ...config.isolationHide,
    ]
    return await chooseExecutor(config, { ...places, hide }, log)
  } catch (error) {
    if (error instanceof IsolationError || error instanceof ExecutorSetupError)
      throw new ConfigurationError([error.message])
    throw error
  }
}

const START_PAUSE_MIN_MS = 1_000
const START_PAUSE_MAX_MS = 15_000

/**
 * Starts an agent, and tries again while space is missing or the isolation of kernels cannot be determined. Neither is
 * a fault of the configuration, and running kernels wait for their agent.
 *
 * @param waits called before each further try
 * @returns null if `signal` aborts before it has started
 */
export async function startPatiently(
  start: () => Promise<Agent>,
  { log, signal, waits = () => {} }: { log: Logger; signal: AbortSignal; waits?: () => void },
): Promise<Agent | null> {
  for (let failures = 0; !signal.aborted; failures++) {
    try {
      return await start()
    } catch (error) {
      if (!(error instanceof IsolationUndecidedError) && !isPassing(error)) throw error
      const againInMs = Math.min(START_PAUSE_MAX_MS, START_PAUSE_MIN_MS * 2 ** Math.min(failures, 10))
      log.error({ againInMs }, `the agent cannot start yet; trying again: ${messageOf(error)}`)
      waits()
      await wait(againInMs, { signal })
    }
  }
  return null
}

/** Returns the directory for uploads of clients and copies of checkpoints. */
export function checkpointDirectory({ checkpointDir }: Config, dataDir: string): string {
  return resolve(checkpointDir ?? join(dataDir, 'checkpoints'))
}

/** Returns the directory of blobs. */
export function blobDirectory(config: Config, dataDir: string): string {
  return resolve(config.blobDir ?? join(checkpointDirectory(config, dataDir), 'blobs'))
}

/** Every file that the configuration names, such as one with a token or a key. */
function filesOf(config: Config): string[] {
  return Object.entries(config).flatMap(([key, value]) =>
    key.endsWith('File') && typeof value === 'string' ? [resolve(value)] : [],
  )
}

/** Share of the memory that kernels get. The rest is left to the agent, an embedded server and the system. */
const MEMORY_SHARE = 0.8

/** Returns what this machine or container can offer to kernels: `cpu` in cores, `mem` in bytes. */
function detectSlots(): Record<string, string> {
  const constrained = process.constrainedMemory()
  const total = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
  return { cpu: String(availableParallelism()), mem: String(Math.floor(total * MEMORY_SHARE)) }
}
