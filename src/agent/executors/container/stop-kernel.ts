import { messageOf } from '../../../observability/error-message.ts'
import * as directory from '../kernel-directory/kernel-directory.ts'
import type { ContainerHost } from './container-host.ts'
import type { ContainerKernel } from './container-kernel.ts'

const KILL_AGAIN_MS = 1_000

/** One that has not been claimed never runs; whoever creates its container finds the claim and removes it. */
export function stopKernel(host: ContainerHost, kernel: ContainerKernel, first: boolean): void {
  if (kernel.phase === 'LAUNCHING') {
    if (directory.claimStatus(kernel.path, 'never')) host.book.endBeforeRunning(kernel, kernel.stopError)
    return
  }
  if (kernel.killAt === null || kernel.killAt <= Date.now()) return killKernel(host, kernel)
  if (first) void signal(host, kernel, 'SIGTERM')
  host.wake()
}

/** Again and again, until its end is known. */
export function killKernel(host: ContainerHost, kernel: ContainerKernel): void {
  if (performance.now() < kernel.killAgainAt) return
  kernel.killAgainAt = performance.now() + KILL_AGAIN_MS
  void signal(host, kernel, 'SIGKILL').then(() => host.advance(kernel))
  host.wake()
}

async function signal(host: ContainerHost, kernel: ContainerKernel, name: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  try {
    if (kernel.containerId !== null) await host.engine.kill(kernel.containerId, name)
  } catch (error) {
    host.log.warn({ kernelId: kernel.id, signal: name, error: messageOf(error) }, 'a container got no signal')
  }
}
