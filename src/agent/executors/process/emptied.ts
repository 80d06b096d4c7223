import { readlinkSync } from 'node:fs'
import { readStatus } from '../kernels/kernel-directory.ts'
import { readProcStat } from './proc-stat.ts'
import type { ProcessHost } from './process-host.ts'
import type { ProcessKernel } from './process-kernel.ts'
import { parseStatus } from '../kernels/shim-status.ts'
import { signalProcess } from './signal-process.ts'

/**
 * Kills what an ended shim has left, however it detached itself: in the kernel's cgroup, in its PID namespace, or where
 * it has neither, in its process session or with its id in the environment.
 *
 * @returns whether nothing is left
 */
export function killLeftovers(host: ProcessHost, kernel: ProcessKernel): boolean {
  const { cgroup, shim } = kernel
  if (cgroup !== null && host.cgroups !== null) return host.cgroups.empty(cgroup)
  // Nothing ran, or not since the machine started.
  if (shim === null) return true
  if (!kernel.namespaced) return kernel.swept
  const { innerPid, innerNamespace } = parseStatus(readStatus(kernel.path))
  if (innerPid === null) return kernel.swept
  if (!isStillThere(innerPid, innerNamespace, shim)) return true
  signalProcess(innerPid, 'SIGKILL')
  return false
}

function isStillThere(pid: number, namespace: number | null, shim: { startTicks: number }): boolean {
  const stat = readProcStat(pid)
  // The last process of a namespace is a zombie only when all others are gone.
  if (stat === null || 'ZX'.includes(stat.state)) return false
  if (namespace === null) return stat.session === pid && stat.startTicks >= shim.startTicks
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`) === `pid:[${namespace}]`
  } catch {
    return false
  }
}
