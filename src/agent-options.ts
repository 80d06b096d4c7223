import { join, resolve } from 'node:path'
import { ChainStoreError } from './agent/chain-store.ts'
import type { AgentOptions } from './agent/agent.ts'
import { chooseExecutor, type ChosenExecutor } from './agent/create-executor.ts'
import { detectSlots } from './agent/detect-slots.ts'
import { ExecutorSetupError } from './agent/executors/setup-error.ts'
import { IsolationError } from './agent/executors/process/isolation/isolation.ts'
import { ConfigurationError, type Config } from './config.ts'
import type { Logger } from './observability/log.ts'

/**
 * What the configuration says about an agent, whether it runs within a server or on its own.
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
  const { isolation, create, slots, slotsPerKernelMax, ports, volumes, warnings } = await choose(
    config,
    { dataDir, agentDir },
    log,
  )
  return {
    createExecutor: (hooks, agentId) => orConfigurationError(() => create(hooks, agentId)),
    isolation,
    agentDir,
    name: config.agentName,
    resourceGroup: config.resourceGroup,
    address: config.agentAddress,
    version,
    slots: config.slots ?? slots ?? detectSlots(),
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
    const hide = [...filesOf(config), checkpointDirectory(config, places.dataDir), ...config.isolationHide]
    return await chooseExecutor(config, { ...places, hide }, log)
  } catch (error) {
    if (error instanceof IsolationError || error instanceof ExecutorSetupError)
      throw new ConfigurationError([error.message])
    throw error
  }
}

/** Of what clients upload. */
export function checkpointDirectory({ checkpointDir }: Config, dataDir: string): string {
  return resolve(checkpointDir ?? join(dataDir, 'checkpoints'))
}

/** Every file that the configuration names, such as one with a token or a key. */
function filesOf(config: Config): string[] {
  return Object.entries(config).flatMap(([key, value]) =>
    key.endsWith('File') && typeof value === 'string' ? [resolve(value)] : [],
  )
}
