import { recoverGpus } from '../../gpus/kernel-gpus.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import { foundBefore } from '../chain/chain-directory.ts'
import { endKernel } from './end-kernel.ts'
import * as directory from '../kernels/kernel-directory.ts'
import { isAlive, signalProcess } from './proc-stat.ts'
import type { ProcessHost, ProcessKernel } from './process-host.ts'
import { parseStatus, type ShimStatus } from '../kernels/shim-status.ts'

/** A shim writes its first line within microseconds after its claim, unless it is killed in between. */
const FIRST_LINE_WAIT_MS = 500

/**
 * Recovers a kernel. Without a `status` it never ran: claiming its start keeps a late shim from running it, and it is
 * then prepared or started again.
 */
export async function recoverKernel(
  host: ProcessHost,
  kernel: ProcessKernel,
  record: directory.KernelRecord,
): Promise<void> {
  const { path } = kernel
  if (!directory.claimStatus(path, 'never') && !parseStatus(directory.readStatus(path)).never)
    return takeOver(host, kernel, record)
  if (mayHaveRunBefore(kernel, record, host)) return host.registry.fail(kernel, 'kernel-vanished', MAY_HAVE_RUN)
  // An order from before the machine started is not covered by a fence. The server repeats it.
  host.registry.beginAnew(kernel, record.bootId === host.bootId && directory.wasStartOrdered(path))
}

/** Whether a restart of the machine may have lost the record that a kernel has run which must not run twice. */
export function mayHaveRunBefore(
  { spec }: Pick<ProcessKernel, 'spec'>,
  record: Pick<directory.KernelRecord, 'bootId'>,
  host: { bootId: string },
): boolean {
  return spec.neverRunTwice === true && record.bootId !== host.bootId
}

export const MAY_HAVE_RUN = 'its machine was restarted, and may have lost the record that it ran'

async function takeOver(host: ProcessHost, kernel: ProcessKernel, record: directory.KernelRecord): Promise<void> {
  kernel.heard = false
  const status = await readBegunStatus(kernel.path)
  const times = directory.statusTimes(kernel.path)
  kernel.cgroup = status.outsideCgroup ? null : (host.cgroups?.existing(kernel.id) ?? null)
  kernel.outside = status.outsideCgroup
  kernel.used = status.used
  kernel.seen = directory.readUsageMark(kernel.path)
  kernel.notedBytes = kernel.seen?.peakMemoryBytes ?? 0
  kernel.namespaced = status.innerPid !== null
  kernel.phase = 'RUNNING'
  kernel.found = foundBefore(host, record.spec)
  recoverGpus(host.gpus, kernel)
  kernel.shim = status.shim
  kernel.startedAt = times.startedAt
  kernel.beganAt = status.beganAtSeconds
  host.registry.readStop(kernel)
  const sameBoot = record.bootId === host.bootId
  if (status.exitCode !== null) return endKernel(host, kernel, status.exitCode, times.endedAt)
  if (sameBoot && status.shim !== null && isAlive(status.shim)) return resume(host, kernel)
  if (sameBoot && status.shim !== null) signalProcess(-status.shim.pid, 'SIGKILL')
  if (!sameBoot) kernel.shim = null
  // Reads the status again: the kernel may have ended properly between that read and the check of its process.
  const { exitCode, used } = parseStatus(directory.readStatus(kernel.path))
  kernel.used = used
  endKernel(host, kernel, exitCode, directory.statusTimes(kernel.path).endedAt)
}

function resume(host: ProcessHost, kernel: ProcessKernel): void {
  kernel.watched = true
  if (kernel.killAt !== null) host.registry.applyStop(kernel)
  host.wake()
}

async function readBegunStatus(path: string): Promise<ShimStatus> {
  for (let waited = 0; ; waited += 20) {
    const status = parseStatus(directory.readStatus(path))
    if (status.shim !== null || waited >= FIRST_LINE_WAIT_MS) return status
    await sleep(20)
  }
}
