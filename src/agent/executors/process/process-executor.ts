import type { Executor, ExecutorHooks } from '../executor.ts'
import { createChainDrops } from './chain/drop-chains.ts'
import { createProcessHost, type ProcessExecutorOptions } from './create-process-host.ts'
import { connectToKernel } from './exec/connect-to-kernel.ts'
import { execInKernel } from './exec/exec-in-kernel.ts'
import { runningKernel } from './exec/running-kernel.ts'

/**
 * Runs kernels as processes on this machine (Linux only, since it reads /proc). Each runs under a shim in its own
 * session, so it outlives the agent. The headers of shim, fork server and kernel directory describe what a crash
 * leaves.
 */
export function createProcessExecutor(options: ProcessExecutorOptions, hooks: ExecutorHooks): Executor {
  const { host, port: common, close } = createProcessHost(options, hooks)
  const chains = createChainDrops(host)
  return {
    ...common,
    name: 'process',
    async recover() {
      host.keeper.open()
      host.forkServer.open()
      await common.recover()
      await chains.resume()
    },
    async exec(kernelId, assignment, request) {
      return execInKernel(host, runningKernel(host, kernelId, assignment), request)
    },
    async connect(kernelId, assignment, port) {
      return connectToKernel(host, runningKernel(host, kernelId, assignment), port)
    },
    chains,
    async close() {
      const closed = close()
      await common.close()
      await closed
      host.forkServer.close()
      host.keeper.close(host.book.kernels.size > 0)
      host.cgroups?.close()
    },
  }
}
