import type { Logger } from '../observability/log.ts'
import type { Executor, ExecutorHooks } from './executors/executor.ts'
import { createNoopExecutor } from './executors/noop/noop-executor.ts'
import type { MemoryLimitMode } from './executors/process/create-process-host.ts'
import { createProcessExecutor } from './executors/process/process-executor.ts'

/** Creates the configured executor. */
export function createExecutor(
  config: { executor: 'process' | 'noop'; agentMemoryLimit: MemoryLimitMode },
  agentDir: string,
  log: Logger,
  hooks: ExecutorHooks,
): Executor {
  if (config.executor === 'noop') return createNoopExecutor(hooks)
  return createProcessExecutor({ agentDir, log, memoryLimit: config.agentMemoryLimit }, hooks)
}
