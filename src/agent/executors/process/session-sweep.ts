import { scanProcesses } from './proc-stat.ts'
import type { ProcessHost } from './process-host.ts'
import { signalProcess } from './signal-kernel.ts'

/**
 * Kills processes that left a kernel's process group but not its session, such as jobs of a shell with job control. One
 * scan of all processes serves all kernels that have ended since the last. A process that created its own session
 * escapes this, but not the cgroup, if there is one.
 */
export function sweepSessions(host: ProcessHost): void {
  // If a running kernel has this pid, it was free when that kernel began: nothing is left of the earlier session.
  for (const kernel of host.kernels.values()) {
    if (kernel.phase === 'RUNNING' && !kernel.killed && kernel.shim !== null)
      host.sessionsToSweep.delete(kernel.shim.pid)
  }
  for (const { pid, session } of scanProcesses()) {
    if (host.sessionsToSweep.has(session)) signalProcess(pid, 'SIGKILL')
  }
  host.sessionsToSweep.clear()
}
