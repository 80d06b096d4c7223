import { closeSync, openSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { RepriseError } from '../../../../domain/errors.ts'
import { readStatus } from '../../kernels/kernel-directory.ts'
import { parseStatus } from '../../kernels/shim-status.ts'
import { devicesFor } from '../isolation/isolation.ts'
import { dropPrivileges, enterAndBecome } from '../isolation/drop-privileges.ts'
import { isAlive, readProcStat } from '../proc-stat.ts'
import type { ProcessKernel } from '../process-host.ts'
import { exportsOf, programOf, quote } from '../shell.ts'
import type { KernelEntry } from '../../kernels/kernel-entry.ts'

/** The way into a running kernel: what its launch did once, for one more command. */
export interface Entry {
  /** Leads into the kernel's namespaces, user and rights, and runs `/bin/sh` there. */
  command: string[]
  /** The shell stays outside of the kernel's PID namespace; what it starts is inside. */
  namespaced: boolean
  /** Called when the entry has ended. */
  close(): void
}

const BEGUN_WITHIN_MS = 5_000
const BEGUN_CHECK_MS = 20

const DIRECT = { namespaced: false, close: () => undefined }

/**
 * The namespaces are opened before it is certain whose they are, and stay open: were the process to end and another to
 * get its id, nobody would enter that one's. The shell is the first program that is looked up behind them, and it has
 * the kernel's rights.
 *
 * @param pid the first process behind the border of a PID namespace; null without one
 * @throws RepriseError SESSION_NOT_RUNNING, CHANNEL_UNSUPPORTED
 */
export function enterKernel(kernel: ProcessKernel, pid: number | null): Entry {
  const uid = userOf(kernel)
  const { groups } = devicesFor(kernel.spec.resourceSlots)
  if (!kernel.namespaced) {
    return { ...DIRECT, command: [...(uid === null ? [] : dropPrivileges(uid, groups)), '/bin/sh'] }
  }
  const launcher = pid === null ? undefined : readProcStat(pid)?.parent
  if (launcher === undefined) throw notThere()
  if (uid === null) {
    const message = 'an agent that is not root cannot enter the namespaces of its kernels again: run it as root'
    throw new RepriseError('CHANNEL_UNSUPPORTED', message)
  }
  const opened = openAll(['mnt', 'pid', 'ipc'].map((name) => `/proc/${pid}/ns/${name}`))
  const stillThere = kernel.shim !== null && isAlive(kernel.shim) && readProcStat(pid!)?.parent === launcher
  if (!stillThere || readProcStat(launcher)?.parent !== kernel.shim?.pid) {
    opened.close()
    throw notThere()
  }
  const [mount, pids, ipc] = opened.paths
  const enter = enterAndBecome(uid, groups, [`--mount=${mount}`, `--pid=${pids}`, `--ipc=${ipc}`])
  return { command: [...enter, '/bin/sh'], namespaced: true, close: opened.close }
}

/**
 * Whose its working directory is, null for the agent's own: the agent made it so, nobody else can change that, and it
 * says so of kernels of earlier instances, too.
 */
export function userOf({ path }: ProcessKernel): number | null {
  const { uid } = statSync(join(path, 'work'))
  return uid === process.getuid!() ? null : uid
}

/**
 * A kernel runs from its claim on, and takes a moment more to make its namespaces.
 *
 * @returns the first process behind the border of its PID namespace; null if it has none
 * @throws RepriseError SESSION_NOT_RUNNING
 */
export async function hasBegun(kernel: ProcessKernel): Promise<number | null> {
  if (!kernel.namespaced) return null
  const until = performance.now() + BEGUN_WITHIN_MS
  for (;;) {
    const { innerPid, inside } = parseStatus(readStatus(kernel.path))
    if (innerPid !== null && inside) return innerPid
    if (!isRunning(kernel) || performance.now() > until) throw notThere()
    await sleep(BEGUN_CHECK_MS)
  }
}

function notThere(): RepriseError {
  return new RepriseError('SESSION_NOT_RUNNING', 'the kernel has not begun its command, or is ending')
}

/** As paths by which a child finds what this process has opened. @throws RepriseError SESSION_NOT_RUNNING */
export function openAll(files: readonly string[]): { paths: string[]; close(): void } {
  const opened: number[] = []
  const close = () => opened.splice(0).forEach((fd) => closeSync(fd))
  try {
    for (const file of files) opened.push(openSync(file, 'r'))
    return { paths: opened.map((fd) => `/proc/${process.pid}/fd/${fd}`), close }
  } catch {
    close()
    throw notThere()
  }
}

/**
 * With the agent's rights, so it has nothing of the session or of the command: those are in a file that it opens and
 * removes before it gives its rights up. It enters the cgroup first, so all that follows is bounded.
 */
export function entryScript({ command }: Entry, kernel: ProcessKernel, file: string): string {
  const groups = (kernel.cgroup?.paths ?? []).map((path) => `echo 0 >>${quote(join(path, 'cgroup.procs'))} || exit 126`)
  return `${groups.join('\n')}
echo 500 2>/dev/null >/proc/self/oom_score_adj
exec 3<&0 <${quote(file)} || exit 126
rm -f ${quote(file)}
exec ${command.map(quote).join(' ')}
`
}

/**
 * With the kernel's rights. Behind the border of a PID namespace, the shell waits for the command, whose number it has
 * not, and leaves the signals of the terminal to it.
 */
export function commandScript(
  { namespaced }: Entry,
  options: { work: string; argv: readonly string[]; environ: ReadonlyMap<string, string>; bounds: string },
): string {
  const { work, argv, environ, bounds } = options
  const command = [exportsOf(environ), programOf(environ, argv)].filter((part) => part !== '').join(' && ')
  const begin = `cd ${quote(work)} || exit 126\n${bounds}\n`
  if (!namespaced) return `${begin}exec <&3 3<&-; ${command}\n`
  return `trap : INT QUIT TERM\n${begin}(${command}) <&3 3<&-\nexit $?\n`
}

type LivingKernel = Pick<KernelEntry, 'assignment' | 'phase' | 'removing' | 'killAt'> & { ending: object | null }

/** @throws RepriseError SESSION_NOT_RUNNING */
export function runningKernel<K extends LivingKernel>(
  { registry }: { registry: { kernels: ReadonlyMap<string, K> } },
  kernelId: string,
  assignment: number,
): K {
  const kernel = registry.kernels.get(kernelId)
  if (kernel !== undefined && kernel.assignment === assignment && isRunning(kernel)) return kernel
  throw new RepriseError('SESSION_NOT_RUNNING', 'the kernel does not run on its agent')
}

/** Nothing new is to begin in one that is being stopped. */
export function isRunning({ phase, ending, removing, killAt }: LivingKernel): boolean {
  return phase === 'RUNNING' && ending === null && !removing && killAt === null
}
