import { scanProcesses } from './proc-stat.ts'
import type { ProcessHost } from './process-host.ts'
import { signalProcess } from './signal-kernel.ts'

/**
 * Kills what left a kernel's process group but not its session, as shells with job control make it. One look at
 * all processes serves all kernels that ended since the last. A process that made a session of its own is beyond
 * this; the cgroup, where there is one, catches that too.
 */
export function sweepSessions(host: ProcessHost): void {
  // A number that a kernel has now was free when that kernel began: nothing was left of the session before it.
  for (const kernel of host.kernels.values()) {
    if (kernel.phase === 'RUNNING' && !kernel.killed && kernel.shim !== null)
      host.sessionsToSweep.delete(kernel.shim.pid)
  }
  for (const { pid, session } of scanProcesses()) {
    if (host.sessionsToSweep.has(session)) signalProcess(pid, 'SIGKILL')
  }
  host.sessionsToSweep.clear()
}
