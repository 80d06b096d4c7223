import { closeSync, constants, fstatSync, openSync, writeSync } from 'node:fs'
import { messageOf } from '../../../observability/error-message.ts'
import { OUTPUT_LOST } from '../kernels/kernel-entry.ts'
import { logPath } from '../kernels/kernel-directory.ts'
import type { ProcessHost } from './process-host.ts'
import type { ProcessKernel } from './process-kernel.ts'
import type { Executor, ExecutorHooks } from '../executor.ts'
import { createChainDrops } from '../chain/drop-chains.ts'
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
    spaceIsBack() {
      for (const kernel of host.registry.kernels.values()) if (kernel.phase === 'RUNNING') markLoss(host, kernel)
    },
    async close() {
      const closed = close()
      await common.close()
      await closed
      host.forkServer.close()
      host.keeper.close(host.registry.kernels.size > 0)
      host.cgroups?.close()
    },
  }
}

const APPEND = constants.O_WRONLY | constants.O_APPEND | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** In its output, behind what it could write before: what it writes from now on follows. */
function markLoss({ log }: ProcessHost, { id, outputPath }: ProcessKernel): void {
  try {
    const fd = openSync(logPath(outputPath, 'STDOUT'), APPEND)
    try {
      if (fstatSync(fd).isFile()) writeSync(fd, OUTPUT_LOST)
    } finally {
      closeSync(fd)
    }
  } catch (error) {
    log.warn({ kernelId: id, error: messageOf(error) }, 'a loss of output could not be marked')
  }
}
