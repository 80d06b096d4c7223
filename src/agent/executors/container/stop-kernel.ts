import { messageOf } from '../../../observability/error-message.ts'
import { wait } from '../../../waiting/wait.ts'
import { hasEnded } from '../kernels/kernel-entry.ts'
import * as directory from '../kernels/kernel-directory.ts'
import type { ContainerHost } from './container-host.ts'
import type { ContainerKernel } from './container-kernel.ts'
import { EngineSilentError } from './engine/engine-client.ts'

const AGAIN_MS = 1_000

/** One that has not been claimed never runs; whoever creates its container finds the claim and removes it. */
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
  host.log.warn({ kernelId: id, error: messageOf(error) }, 'the stop of a container met a fault')
}

/** Again and again, until its end is known. */
export function killKernel(host: ContainerHost, kernel: ContainerKernel): void {
  if (performance.now() < kernel.killAgainAt) return
  kernel.killAgainAt = performance.now() + AGAIN_MS
  signal(host, kernel, 'SIGKILL')
    .then(() => host.advance(kernel))
    .catch((error: unknown) => log(host, kernel, error))
  host.wake()
}

/** Until the engine has heard it: what it runs has its grace also of an engine that is just started again. */
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
