import { readFileSync } from 'node:fs'
import { readStatus } from '../kernels/kernel-directory.ts'
import { isAlive, readProcStat, scanProcesses, signalProcess } from './proc-stat.ts'
import type { Asked, ProcessHost, ProcessKernel } from './process-host.ts'
import { STOP_NOTICE } from './shim.ts'
import { parseStatus } from '../kernels/shim-status.ts'

/** Signals the shim's group. Checks the shim first: while it is alive, the group cannot belong to anything else. */
function signalGroup(kernel: ProcessKernel, signal: NodeJS.Signals): void {
  if (kernel.shim !== null && isAlive(kernel.shim)) signalProcess(-kernel.shim.pid, signal)
}

/**
 * Asks everything that the kernel runs to end: the command's process group, and every other process of the kernel. No
 * process gets SIGTERM twice, because many programs end at once, without cleaning up, after a second SIGTERM.
 *
 * The process that creates the namespaces does not pass signals on, but would die of them. So in a namespace the signal
 * goes to the group of the namespace's first process, which is a descendant of the shim.
 *
 * @returns false if the command cannot take signals yet
 */
export function askToEnd(host: ProcessHost, kernel: ProcessKernel): boolean {
  if (!ask(host, kernel)) return false
  host.registry.asked(kernel)
  return true
}

function ask(host: ProcessHost, kernel: ProcessKernel): boolean {
  const { shim } = kernel
  if (!kernel.namespaced) {
    signalGroup(kernel, 'SIGTERM')
    if (shim !== null) askOthers(host, kernel, { group: shim.pid, spared: [shim.pid] })
    return true
  }
  const { innerPid, inside } = parseStatus(readStatus(kernel.path))
  if (innerPid === null || !inside) return false
  if (!hasChild(innerPid)) return false
  const launcher = readProcStat(innerPid)?.parent ?? 0
  if (shim === null || readProcStat(launcher)?.parent !== shim.pid || !isAlive(shim)) return true
  signalProcess(innerPid, STOP_NOTICE)
  signalProcess(-innerPid, 'SIGTERM')
  askOthers(host, kernel, { group: innerPid, spared: [shim.pid, launcher, innerPid] })
  return true
}

/** How often the members of a cgroup are read for processes that were started meanwhile. */
const ASKING_ROUNDS_MAX = 5

/** Without a cgroup, the leftover sweep finds the other processes, in one scan for all kernels. */
function askOthers({ cgroups }: ProcessHost, kernel: ProcessKernel, asked: Asked): void {
  if (cgroups === null || kernel.cgroup === null) {
    kernel.toAsk = asked
    return
  }
  const known = new Set(asked.spared)
  for (let round = 0; round < ASKING_ROUNDS_MAX; round++) {
    const more = cgroups.members(kernel.cgroup).filter((pid) => !known.has(pid))
    if (more.length === 0) return
    for (const pid of more) {
      known.add(pid)
      if (readProcStat(pid)?.group !== asked.group) signalProcess(pid, 'SIGTERM')
    }
  }
}

/**
 * Whether the first process has a child. After `inside`, that can only be the command, which takes signals from its
 * fork on.
 */
function hasChild(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1') !== ''
  } catch {
    // The process has ended, or this system does not list children.
    return readProcStat(pid) === null || scanProcesses().some(({ parent }) => parent === pid)
  }
}

/**
 * Stops the command. A shim that has not begun yet finds the stop mark, and does not run the command.
 */
export function stopCommand(host: ProcessHost, kernel: ProcessKernel): void {
  if (kernel.phase !== 'RUNNING') return
  if (kernel.killAt === null || kernel.killAt <= Date.now()) return killKernel(host, kernel)
  if (!kernel.asked) kernel.signalPending = !askToEnd(host, kernel)
  host.wake()
}

/** Sends SIGKILL. The stop must be on disk before: the shim dies as well and leaves no exit line. */
export function killKernel(host: ProcessHost, kernel: ProcessKernel): void {
  if (kernel.shim === null) return
  kernel.killed = true
  kernel.nextLifeCheckAt = 0
  signalGroup(kernel, 'SIGKILL')
  host.wake()
}
