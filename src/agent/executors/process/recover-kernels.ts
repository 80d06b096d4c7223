import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FoundCheckpoint } from '../../../domain/agent/checkpoint.ts'
import type { KernelSpec } from '../../../domain/agent/protocol.ts'
import { chainDirectory } from './chain/chain-directory.ts'
import { readChainMark } from './chain/chain-mark.ts'
import { endBeforeRunning, endKernel } from './end-kernel.ts'
import * as directory from '../kernel-directory/kernel-directory.ts'
import { prepareKernel } from './prepare-kernel.ts'
import { isAlive } from './proc-stat.ts'
import type { ProcessHost } from './process-host.ts'
import { newProcessKernel, type ProcessKernel } from './process-kernel.ts'
import { parseStatus, type ShimStatus } from '../kernel-directory/shim-status.ts'
import { signalProcess } from './signal-process.ts'
import { beginStop } from './stop-kernel.ts'

/** A shim writes its first line within microseconds after its claim, unless it is killed in between. */
const FIRST_LINE_WAIT_MS = 500

/**
 * Takes over the kernels that earlier instances left in `kernelsDir`. A kernel without a `status` never ran. Claiming
 * its start keeps a late shim from running it; it is then prepared, or started, again.
 */
export async function recoverKernels(host: ProcessHost): Promise<void> {
  for (const name of await readdir(host.kernelsDir)) {
    const path = join(host.kernelsDir, name)
    const record = directory.readRecord(path)
    if (record === null || record.spec.kernelId !== name) {
      await directory.removeKernelDirectory(path)
      continue
    }
    const kernel = newProcessKernel(record.spec, record.assignment, path)
    kernel.heard = false
    host.kernels.set(name, kernel)
    if (directory.claimStatus(path, 'never') || parseStatus(directory.readStatus(path)).never)
      beginAnew(host, kernel, record)
    else await takeOver(host, kernel, record)
  }
}

function beginAnew(host: ProcessHost, kernel: ProcessKernel, { bootId }: directory.KernelRecord): void {
  // No fence covers an order from before the machine started; the server repeats it.
  kernel.startWanted = bootId === host.bootId && directory.wasStartOrdered(kernel.path)
  kernel.heard = true
  const mark = directory.readStopMark(kernel.path)
  if (mark !== null) return endBeforeRunning(host, kernel, mark.error ?? null)
  kernel.busy = prepareKernel(host, kernel)
}

async function takeOver(host: ProcessHost, kernel: ProcessKernel, record: directory.KernelRecord): Promise<void> {
  const status = await readBegunStatus(kernel.path)
  const times = directory.statusTimes(kernel.path)
  kernel.cgroup = status.outsideCgroup ? null : (host.cgroups?.existing(kernel.id) ?? null)
  kernel.outside = status.outsideCgroup
  kernel.used = status.used
  kernel.seen = directory.readUsageMark(kernel.path)
  kernel.notedBytes = kernel.seen?.peakMemoryBytes ?? 0
  kernel.namespaced = status.innerPid !== null
  kernel.phase = 'RUNNING'
  kernel.port = record.port ?? null
  kernel.found = foundBefore(host, record.spec)
  kernel.shim = status.shim
  kernel.startedAt = times.startedAt
  const mark = directory.readStopMark(kernel.path)
  kernel.killAt = mark?.killAt ?? null
  kernel.stopError = mark?.error ?? null
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

function foundBefore(host: ProcessHost, spec: KernelSpec): FoundCheckpoint | null {
  const mark = readChainMark(chainDirectory(host, spec))
  return mark?.attempt === spec.attempt ? mark.found : null
}

function resume(host: ProcessHost, kernel: ProcessKernel): void {
  kernel.watched = true
  if (kernel.killAt !== null) beginStop(host, kernel)
  host.wakeTicker()
}

async function readBegunStatus(path: string): Promise<ShimStatus> {
  for (let waited = 0; ; waited += 20) {
    const status = parseStatus(directory.readStatus(path))
    if (status.shim !== null || waited >= FIRST_LINE_WAIT_MS) return status
    await sleep(20)
  }
}
