import type { Executor, ExecutorHooks } from '../executor.ts'
import { createChainDrops } from './chain/drop-chains.ts'
import { createProcessHost, type ProcessExecutorOptions } from './create-process-host.ts'

/**
 * Runs kernels as processes on this machine (Linux only, since it reads /proc). Each runs under a shim in its own
 * session, so it outlives the agent. The headers of shim, fork server and kernel directory describe what a crash
 * leaves.
 */
export function createProcessExecutor(options: ProcessExecutorOptions, hooks: ExecutorHooks): Executor {
  const { host, port, close } = createProcessHost(options, hooks)
  const chains = createChainDrops(host)
  return {
    ...port,
    name: 'process',
    async recover() {
      host.keeper.open()
      host.forkServer.open()
      await port.recover()
      await chains.resume()
    },
    chains,
    async close() {
      close()
      await port.close()
      host.forkServer.close()
      host.keeper.close(host.book.kernels.size > 0)
      host.cgroups?.close()
    },
  }
}
