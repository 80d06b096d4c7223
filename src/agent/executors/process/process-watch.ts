import { diskFault } from '../../disk-watch.ts'
import { concludeEnd, endKernel } from './end-kernel.ts'
import type { ShimMessage } from './fence/fork-server.ts'
import type { ProcessHost, ProcessKernel } from './process-host.ts'
import { parseBegan, parseShimUsage, parseStatus } from '../kernels/shim-status.ts'
import { messageOf } from '../../../observability/error-message.ts'
import { guarded } from '../../../waiting/wait.ts'
import { hasLogGrown } from '../kernels/kernel-logs.ts'
import { createLeftoverSweep } from './leftover-sweep.ts'
import { readStatus, statusTimes } from '../kernels/kernel-directory.ts'
import { giveUpLaunch, LAUNCH_TIMEOUT_MS } from './launch-kernel.ts'
import { isAlive, signalProcess } from './proc-stat.ts'
import { askToEnd, killKernel } from './signal-kernel.ts'

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
  host.wake()
}

/** Treats the kernel as outside its cgroup: it may be in some of the hierarchies, but no limit is certain to apply. */
function leaveGroup(host: ProcessHost, kernel: ProcessKernel): void {
  if (kernel.cgroup !== null) host.cgroupsToRemove.add(kernel.cgroup)
  kernel.cgroup = null
  kernel.outside = true
  host.wake()
}

/**
 * Interval of checks for shims that report their own end. The check takes 15 microseconds, and only detects a killed
 * shim.
 */
const HEARD_LIFE_CHECK_MS = 500

const RECOVERED_LIFE_CHECK_MS = 100

const TICK_MS = 100
/** Interval while the end of a killed kernel is awaited. */
const URGENT_TICK_MS = 10
const REAP_INTERVAL_MS = 1_000
/** Pause after a check of a kernel failed, for example because too many files are open. */
const FAULT_PAUSE_MS = 1_000

/** The executor's periodic checks. The timer stops while no kernel runs and nothing is left to clean up. */
export function createProcessWatch(host: ProcessHost): { wake(): void; close(): void } {
  let timer: NodeJS.Timeout | null = null
  let dueAt = 0
  let reapedAt = 0
  const sweep = createLeftoverSweep(host)
  const failed = (error: unknown) => host.log.error({ error: messageOf(error) }, 'a check of kernels failed')

  function tick(): void {
    timer = null
    try {
      check()
    } finally {
      if (hasWork(host)) wake()
    }
  }

  function check(): void {
    const now = performance.now()
    let grown = false
    for (const kernel of host.registry.kernels.values()) {
      try {
        checkLife(host, kernel, now)
        grown = hasLogGrown(kernel, now) || grown
      } catch (error) {
        kernel.nextLifeCheckAt = now + FAULT_PAUSE_MS
        host.log.warn({ kernelId: kernel.id, error: messageOf(error) }, 'a kernel could not be checked')
      }
    }
    if (grown) host.registry.changed()
    sweep.run(now)
    if (now - reapedAt >= REAP_INTERVAL_MS || !hasWork(host)) {
      reapedAt = now
      host.forkServer.reap()
    }
    for (const group of host.cgroupsToRemove) {
      if (host.cgroups?.remove(group) !== false) host.cgroupsToRemove.delete(group)
    }
  }

  function wake(): void {
    if (host.registry.closed) return
    const pause = isUrgent(host) ? URGENT_TICK_MS : TICK_MS
    if (timer !== null && dueAt <= performance.now() + pause) return
    clearTimeout(timer ?? undefined)
    dueAt = performance.now() + pause
    timer = setTimeout(guarded(tick, failed), pause).unref()
  }

  return { wake, close: () => clearTimeout(timer ?? undefined) }
}

function isUrgent(host: ProcessHost): boolean {
  return [...host.registry.kernels.values()].some((kernel) => kernel.phase === 'RUNNING' && isAwaited(kernel))
}

function hasWork(host: ProcessHost): boolean {
  if (host.cgroupsToRemove.size > 0) return true
  return [...host.registry.kernels.values()].some(
    (kernel) => kernel.phase === 'RUNNING' || kernel.phase === 'LAUNCHING',
  )
}

function isAwaited(kernel: ProcessKernel): boolean {
  return kernel.killed || kernel.ending !== null || kernel.signalPending || kernel.toAsk !== null
}

/** Handles what no message announces: overdue launches, expired grace periods, and shims that have died. */
function checkLife(host: ProcessHost, kernel: ProcessKernel, now: number): void {
  if (kernel.phase === 'LAUNCHING' && kernel.handedOver && now - kernel.launchedAt > LAUNCH_TIMEOUT_MS) {
    giveUpLaunch(host, kernel, `the shim did not begin within ${LAUNCH_TIMEOUT_MS} ms`)
  }
  if (kernel.ending !== null) return concludeEnd(host, kernel)
  if (kernel.phase !== 'RUNNING' || kernel.shim === null) return
  if (kernel.signalPending && !kernel.killed) kernel.signalPending = !askToEnd(host, kernel)
  if (!kernel.killed && kernel.killAt !== null && kernel.killAt <= Date.now()) killKernel(host, kernel)
  if (now < kernel.nextLifeCheckAt) return
  kernel.nextLifeCheckAt = now + lifePause(kernel)
  if (isAlive(kernel.shim)) return
  endKernelOfDeadShim(host, kernel, kernel.shim.pid)
}

function lifePause(kernel: ProcessKernel): number {
  if (kernel.killed) return 0
  return kernel.heard ? HEARD_LIFE_CHECK_MS : RECOVERED_LIFE_CHECK_MS
}

/** The pid of a dead leader is not reused while its group has members, so the signal reaches no other processes. */
function endKernelOfDeadShim(host: ProcessHost, kernel: ProcessKernel, pid: number): void {
  const { exitCode, used } = parseStatus(readStatus(kernel.path))
  kernel.used ??= used
  signalProcess(-pid, 'SIGKILL')
  endKernel(host, kernel, exitCode, exitCode === null ? new Date().toISOString() : statusTimes(kernel.path).endedAt)
}
