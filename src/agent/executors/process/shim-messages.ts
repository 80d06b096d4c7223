import { diskFault } from '../../disk-watch.ts'
import { endKernel } from './end-kernel.ts'
import type { ShimMessage } from './fence/fork-server.ts'
import type { ProcessHost } from './process-host.ts'
import type { ProcessKernel } from './process-kernel.ts'
import { parseBegan, parseShimUsage } from '../kernels/shim-status.ts'

export function handleShimMessage(host: ProcessHost, message: ShimMessage): void {
  const kernel = host.registry.kernels.get(message.kernelId)
  if (kernel === undefined || kernel.token !== message.token) return
  if (message.word === 'outside') leaveGroup(host, kernel)
  if (message.word === 'began') begin(host, kernel, message.rest)
  if (message.word === 'used') kernel.used = parseShimUsage(message.rest)
  if (message.word === 'exit' && kernel.phase === 'RUNNING') {
    endKernel(host, kernel, Number(message.rest), new Date().toISOString())
  }
  if (message.word === 'failed' && kernel.phase === 'LAUNCHING') {
    const fault = diskFault(host.registry.kernelsDir)
    host.registry.fail(kernel, 'executor-failed', `the shim could not be started${fault === null ? '' : `: ${fault}`}`)
  }
}

function begin(host: ProcessHost, kernel: ProcessKernel, line: string): void {
  if (kernel.phase !== 'LAUNCHING') return
  const { shim, beganAtSeconds } = parseBegan(line)
  kernel.shim = shim
  kernel.beganAt = beganAtSeconds
  kernel.watched = true
  kernel.nextLifeCheckAt = performance.now() + HEARD_LIFE_CHECK_MS
  host.registry.began(kernel, new Date().toISOString())
  host.wakeTicker()
}

/** It is in some of its hierarchies at most, and limited by none for sure. */
function leaveGroup(host: ProcessHost, kernel: ProcessKernel): void {
  if (kernel.cgroup !== null) host.cgroupsToRemove.add(kernel.cgroup)
  kernel.cgroup = null
  kernel.outside = true
  host.wakeTicker()
}

/** For shims that report their own end; the check, of 15 microseconds, only detects that one was killed. */
export const HEARD_LIFE_CHECK_MS = 500
