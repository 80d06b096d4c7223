import { join } from 'node:path'
import type { KernelSpec } from '../../../domain/agent/protocol.ts'
import type { Executor, ExecutorHooks } from '../executor.ts'
import { createProcessHost, type ProcessExecutorOptions } from './create-process-host.ts'
import { createChainDrops } from './chain/drop-chains.ts'
import { isSafeId } from '../kernel-directory/kernel-directory.ts'
import { launchKernel } from './launch-kernel.ts'
import { prepareKernel } from './prepare-kernel.ts'
import { hasEnded, newProcessKernel, observeProcessKernel, type ProcessKernel } from './process-kernel.ts'
import { readKernelLog } from '../kernel-directory/read-log.ts'
import { recoverKernels } from './recover-kernels.ts'
import { forgetKernel, stopKernel } from './stop-kernel.ts'

/**
 * Runs kernels as processes on this machine (Linux only, since it reads /proc). Each runs under a shim in its own
 * session, so it outlives the agent. The headers of shim, fork server and kernel directory describe what a crash
 * leaves.
 */
export function createProcessExecutor(options: ProcessExecutorOptions, hooks: ExecutorHooks): Executor {
  const host = createProcessHost(options, hooks)
  const chains = createChainDrops(host)

  function begin(spec: KernelSpec, assignment: number, startWanted: boolean): void {
    const kernel = newProcessKernel(spec, assignment, join(host.kernelsDir, spec.kernelId))
    kernel.startWanted = startWanted
    host.kernels.set(kernel.id, kernel)
    kernel.busy = prepareKernel(host, kernel)
  }

  function request(spec: KernelSpec, assignment: number, start: boolean): void {
    if (!isSafeId(spec.kernelId) || !isSafeId(spec.chainId)) throw new TypeError(`not an id: ${spec.kernelId}`)
    const kernel = host.kernels.get(spec.kernelId)
    if (kernel === undefined) return begin(spec, assignment, start)
    if (assignment > kernel.assignment || (kernel.removing && assignment === kernel.assignment)) {
      setSuccessor(kernel, spec, assignment, start)
      return forgetKernel(host, kernel)
    }
    if (assignment < kernel.assignment || !start || kernel.startWanted) return
    kernel.startWanted = true
    // Secrets come with the order to start.
    kernel.spec = spec
    if (kernel.phase === 'PREPARED') kernel.busy = launchKernel(host, kernel)
  }

  host.removed = ({ id, successor }) => {
    host.kernels.delete(id)
    if (successor !== null && !host.closed) begin(successor.spec, successor.assignment, successor.startWanted)
    host.changed()
  }

  return {
    name: 'process',
    async recover() {
      host.keeper.open()
      host.forkServer.open()
      await recoverKernels(host)
      await chains.resume()
    },
    observe: () => [...host.kernels.values()].filter(({ phase }) => phase !== 'REMOVED').map(observeProcessKernel),
    prepare: (spec, assignment) => request(spec, assignment, false),
    start: (spec, assignment) => request(spec, assignment, true),
    stop(kernelId, assignment, graceMs, error) {
      const kernel = host.kernels.get(kernelId)
      if (kernel === undefined) return
      if (kernel.successor !== null && assignment >= kernel.successor.assignment) kernel.successor = null
      if (assignment > kernel.assignment) forgetKernel(host, kernel)
      else if (assignment === kernel.assignment) stopKernel(host, kernel, graceMs, error)
    },
    forget(kernelId, assignment) {
      const kernel = host.kernels.get(kernelId)
      if (kernel === undefined) return
      if (kernel.successor !== null && assignment >= kernel.successor.assignment) kernel.successor = null
      if (assignment >= kernel.assignment) forgetKernel(host, kernel)
    },
    logSizes(kernelId) {
      const kernel = host.kernels.get(kernelId)
      if (kernel === undefined || kernel.phase === 'REMOVED') return { STDOUT: 0, STDERR: 0, final: true }
      return { ...kernel.logSizes, final: hasEnded(kernel) }
    },
    async readLog(kernelId, stream, offset, maxBytes) {
      const kernel = host.kernels.get(kernelId)
      if (kernel === undefined || kernel.phase === 'REMOVED') return { text: '', bytes: 0, end: true }
      return readKernelLog(kernel, stream, offset, maxBytes)
    },
    chains,
    async close() {
      host.closed = true
      host.close()
      await Promise.all([...host.kernels.values()].map(({ busy }) => busy))
      host.forkServer.close()
      host.keeper.close(host.kernels.size > 0)
      host.cgroups?.close()
    },
  }
}

function setSuccessor(kernel: ProcessKernel, spec: KernelSpec, assignment: number, start: boolean): void {
  const startWanted = start || (kernel.successor?.assignment === assignment && kernel.successor.startWanted)
  if (assignment >= (kernel.successor?.assignment ?? 0)) kernel.successor = { spec, assignment, startWanted }
}
