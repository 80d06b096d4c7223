import { messageOf } from '../../../observability/error-message.ts'
import { wait } from '../../../waiting/wait.ts'
import { hasEnded } from '../kernels/kernel-entry.ts'
import * as directory from '../kernels/kernel-directory.ts'
import type { ContainerHost } from './container-host.ts'
import type { ContainerKernel } from './container-kernel.ts'
import { EngineSilentError } from './engine/engine-client.ts'
import { readlinkSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { basename } from 'node:path'
import { createPasses, type Passes } from '../../../waiting/passes.ts'
import { inNamespaceOf, pidNamespace } from '../process/exec/connect-to-kernel.ts'
import { isAlive, kernelIdOf, scanProcesses, signalProcess } from '../process/proc-stat.ts'
import { lookAt } from '../process/limits/memory-watch.ts'

const AGAIN_MS = 1_000

/**
 * Stops a kernel. If its container has not claimed the start yet, this function claims it, so that the container never
 * runs and is removed by the code that creates it.
 */
export function stopKernel(host: ContainerHost, kernel: ContainerKernel): void {
  if (kernel.phase === 'LAUNCHING') {
    if (directory.claimStatus(kernel.path, 'never')) host.registry.endBeforeRunning(kernel, kernel.stopError)
    return
  }
  if (kernel.killAt === null || kernel.killAt <= Date.now()) return killKernel(host, kernel)
  if (kernel.terminating === null)
    kernel.terminating = terminate(host, kernel).catch((error: unknown) => log(host, kernel, error))
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
 * Asks every process of the container to end. Its first process, the init, would end as soon as the program has ended,
 * and the others would be killed with it. So it is suspended until nothing else is left, or the grace period is over.
 *
 * If the agent may not signal the container's processes, or there is no init, the engine sends SIGTERM to the first
 * process only. The request is repeated until the engine answers, so that a program has its grace period even if the
 * engine is just restarting.
 */
async function terminate(host: ContainerHost, kernel: ContainerKernel): Promise<void> {
  const isHeld = await holdFirst(host, kernel)
  if (isHeld || kernel.asked) return host.registry.asked(kernel)
  while (!(await signal(host, kernel, 'SIGTERM'))) {
    await wait(AGAIN_MS, { ref: false })
    if (host.registry.closed || hasEnded(kernel) || (kernel.killAt ?? 0) <= Date.now()) return
  }
  host.registry.asked(kernel)
}

/** Programs that engines and images use as a container's first process, and that only wait for the others. */
const INITS = /^(docker-init|podman-init|catatonit|tini(-static)?|dumb-init)$/

async function holdFirst(host: ContainerHost, kernel: ContainerKernel): Promise<boolean> {
  const { first, id } = kernel
  if (first === null || !isAlive(first) || !isInit(first.pid)) return false
  // The engine may run on another machine, so this process may have nothing to do with the container.
  if ((await kernelIdOf(first)) !== id || !isAlive(first)) return false
  if (!signalProcess(first.pid, 'SIGSTOP')) return false
  kernel.held = true
  if (!kernel.asked) for (const pid of inNamespaceOf(first.pid)) if (pid !== first.pid) signalProcess(pid, 'SIGTERM')
  host.wake()
  return true
}

function isInit(pid: number): boolean {
  try {
    return INITS.test(basename(readlinkSync(`/proc/${pid}/exe`)))
  } catch {
    return false
  }
}

const HELD_INTERVAL_MS = 100

/** Resumes the suspended first process of a stopped container once no other process is left in the container. */
export function createGraceWatch(host: ContainerHost): Passes {
  const held = () => [...host.registry.kernels.values()].filter((kernel) => kernel.held && !hasEnded(kernel))

  async function pass(): Promise<void> {
    const living = scanProcesses().filter(({ state }) => !'ZX'.includes(state))
    const byNamespace = Map.groupBy(living, ({ pid }) => pidNamespace(pid))
    for (const kernel of held()) {
      const { first } = kernel
      const namespace = first !== null && isAlive(first) ? pidNamespace(first.pid) : null
      if (namespace !== null && (byNamespace.get(namespace)?.length ?? 0) > 1) continue
      kernel.held = false
      if (namespace !== null) signalProcess(first!.pid, 'SIGCONT')
    }
  }

  return createPasses({
    pauseMs: () => (host.registry.closed || held().length === 0 ? null : HELD_INTERVAL_MS),
    pauseMinMs: HELD_INTERVAL_MS,
    pass,
    failed: (error) => host.log.warn({ error: messageOf(error) }, 'stopped containers could not be watched'),
  })
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

/** Interval between measurements: a program can exceed its limit for this long. */
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
