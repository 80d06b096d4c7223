import { messageOf } from '../../../observability/error-message.ts'
import { wait } from '../../../waiting/wait.ts'
import { hasEnded } from '../kernels/kernel-entry.ts'
import * as directory from '../kernels/kernel-directory.ts'
import type { ContainerHost } from './container-host.ts'
import type { ContainerKernel } from './container-kernel.ts'
import { EngineSilentError } from './engine/engine-client.ts'
import { statfs } from 'node:fs/promises'
import { createPasses, type Passes } from '../../../waiting/passes.ts'
import { lookAt } from '../process/limits/memory-watch.ts'

const AGAIN_MS = 1_000

/** Stops a kernel. A container that is not claimed yet never runs: its creator finds this claim and removes it. */
export function stopKernel(host: ContainerHost, kernel: ContainerKernel, first: boolean): void {
  if (kernel.phase === 'LAUNCHING') {
    if (directory.claimStatus(kernel.path, 'never')) host.registry.endBeforeRunning(kernel, kernel.stopError)
    return
  }
  if (kernel.killAt === null || kernel.killAt <= Date.now()) return killKernel(host, kernel)
  if (first) terminate(host, kernel).catch((error: unknown) => log(host, kernel, error))
  host.wake()
}

function log(host: ContainerHost, { id }: ContainerKernel, error: unknown): void {
  host.log.warn({ kernelId: id, error: messageOf(error) }, 'the stop of a container failed')
}

/** Kills the container, repeatedly until its end is known. */
export function killKernel(host: ContainerHost, kernel: ContainerKernel): void {
  if (performance.now() < kernel.killAgainAt) return
  kernel.killAgainAt = performance.now() + AGAIN_MS
  signal(host, kernel, 'SIGKILL')
    .then(() => host.advance(kernel))
    .catch((error: unknown) => log(host, kernel, error))
  host.wake()
}

/**
 * Sends SIGTERM until the engine has received it, so that a program has its grace period even if the engine has just
 * restarted.
 */
async function terminate(host: ContainerHost, kernel: ContainerKernel): Promise<void> {
  while (!(await signal(host, kernel, 'SIGTERM'))) {
    await wait(AGAIN_MS, { ref: false })
    if (host.registry.closed || hasEnded(kernel) || (kernel.killAt ?? 0) <= Date.now()) return
  }
}

/** @returns false if the engine does not answer */
async function signal(host: ContainerHost, kernel: ContainerKernel, name: 'SIGTERM' | 'SIGKILL'): Promise<boolean> {
  try {
    if (kernel.containerId !== null) await host.engine.kill(kernel.containerId, name)
    return true
  } catch (error) {
    if (error instanceof EngineSilentError) return false
    host.log.warn({ kernelId: kernel.id, signal: name, error: messageOf(error) }, 'a container got no signal')
    return true
  }
}

/** A program can exceed its limit for this long. */
const WATCH_INTERVAL_MS = 80
/** File systems of a container that are kept in memory. */
const IN_MEMORY = ['tmp', 'dev/shm']

/**
 * Limits memory where the engine cannot, like the engine of an ordinary user with cgroups of version 1. Counts the
 * resident memory of a container's processes, and the content of its in-memory file systems.
 */
export function createMemoryWatch(host: ContainerHost): Passes {
  const strangers = new Map<string, number>()

  async function pass(): Promise<void> {
    const watched = watchedKernels(host)
    const found = await lookAt(
      watched.map(({ id, first }) => ({ id, first: first! })),
      strangers,
    )
    for (const kernel of watched) {
      const seen = found.get(kernel.id)
      if (seen === undefined) continue
      const usedBytes = seen.bytes + (await keptInMemory(kernel.first!.pid))
      const limitBytes = kernel.memoryLimitBytes!
      if (usedBytes <= limitBytes || !isWatched(kernel)) continue
      host.registry.exceededMemory(kernel, { usedBytes, limitBytes })
      killKernel(host, kernel)
    }
  }

  const isNeeded = () => !host.registry.closed && !host.description.limits.memory && watchedKernels(host).length > 0
  return createPasses({
    pauseMs: () => (isNeeded() ? WATCH_INTERVAL_MS : null),
    pauseMinMs: WATCH_INTERVAL_MS,
    pass,
    failed: (error) => host.log.warn({ error: messageOf(error) }, 'the memory of kernels could not be measured'),
  })
}

function watchedKernels({ registry }: ContainerHost): ContainerKernel[] {
  return [...registry.kernels.values()].filter(isWatched)
}

function isWatched({ phase, first, ending, memoryLimitBytes }: ContainerKernel): boolean {
  return phase === 'RUNNING' && first !== null && ending === null && memoryLimitBytes !== null
}

async function keptInMemory(pid: number): Promise<number> {
  const sizes = IN_MEMORY.map(async (path) => {
    const { blocks, bfree, bsize } = await statfs(`/proc/${pid}/root/${path}`)
    return (blocks - bfree) * bsize
  })
  // The container may have ended meanwhile.
  return (await Promise.all(sizes).catch(() => [])).reduce((sum, bytes) => sum + bytes, 0)
}
