import { statfs } from 'node:fs/promises'
import { messageOf } from '../../../../observability/error-message.ts'
import { createPasses, type Passes } from '../../../../waiting/passes.ts'
import { lookAt } from '../../process/limits/memory-watch.ts'
import type { ContainerHost } from '../container-host.ts'
import type { ContainerKernel } from '../container-kernel.ts'
import { killKernel } from '../stop-kernel.ts'

/** A program can exceed its limit for this long. */
const WATCH_INTERVAL_MS = 80
/** Of a container, in memory. */
const IN_MEMORY = ['tmp', 'dev/shm']

/**
 * Bounds memory where the engine cannot, as that of an ordinary user with cgroups of version 1: by what the processes
 * of a container have resident, and by what it keeps in its file systems in memory.
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
    failed: (error) => host.log.warn({ error: messageOf(error) }, 'the memory of kernels could not be looked at'),
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
  // It may have ended meanwhile.
  return (await Promise.all(sizes).catch(() => [])).reduce((sum, bytes) => sum + bytes, 0)
}
