import { closeSync, openSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { RepriseError } from '../../../../domain/errors.ts'
import { readStatus } from '../../kernels/kernel-directory.ts'
import { parseStatus } from '../../kernels/shim-status.ts'
import { devicesFor } from '../isolation/isolation.ts'
import { dropPrivileges, enterAndBecome } from '../isolation/drop-privileges.ts'
import { isAlive, readProcStat } from '../proc-stat.ts'
import type { ProcessHost, ProcessKernel } from '../process-host.ts'
import { gpuNodes } from '../../../gpus/kernel-gpus.ts'
import { exportsOf, programOf, quote } from '../shell.ts'
import type { KernelEntry } from '../../kernels/kernel-entry.ts'

/** A way for one more command into a running kernel. It repeats what the kernel's launch did. */
export interface Entry {
  /** Enters the kernel's namespaces, takes its user and rights, and runs `/bin/sh` there. */
  command: string[]
  /** True if the shell stays outside of the kernel's PID namespace, while the processes that it starts are inside. */
  namespaced: boolean
  /** Called when the command has ended. */
  close(): void
}

const BEGUN_WITHIN_MS = 5_000
const BEGUN_CHECK_MS = 20

const DIRECT = { namespaced: false, close: () => undefined }

/**
 * Opens the namespaces before it is certain which process they belong to, and keeps them open. If the process ended and
 * another got its id, the command would not enter the other's namespaces. The shell is the first program that is looked
 * up inside, and it already has only the kernel's rights.
 *
 * @param pid the first process inside the PID namespace; null if there is no namespace
 * @throws RepriseError SESSION_NOT_RUNNING, CHANNEL_UNSUPPORTED
 */
export function enterKernel(host: ProcessHost, kernel: ProcessKernel, pid: number | null): Entry {
  const uid = userOf(kernel)
  const { groups } = devicesFor(kernel.spec.resourceSlots, gpuNodes(host.gpus, kernel))
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
 * Returns the owner of its working directory, null for the agent's own user. The agent set this owner, no other user
 * can change it, and it is also known for kernels of earlier instances.
 */
export function userOf({ path }: ProcessKernel): number | null {
  const { uid } = statSync(join(path, 'work'))
  return uid === process.getuid!() ? null : uid
}

/**
 * Waits until a kernel's command has begun. A kernel counts as running from its claim, and then takes a moment to
 * create its namespaces.
 *
 * @returns the first process inside its PID namespace; null if it has no namespace
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

/** Opens files, and returns paths by which a child can reach what is open. @throws RepriseError SESSION_NOT_RUNNING */
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
 * Returns the outer script. It runs with the agent's rights, so it contains no text from the session or the command.
 * Those are in a file that it opens and removes before it drops its rights. It enters the cgroup first, so everything
 * that follows is limited.
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
 * Returns the inner script, which runs with the kernel's rights. Inside a PID namespace the shell cannot replace itself
 * by the command, so it waits for it, and ignores the terminal's signals, which the command gets.
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

/** Returns the kernel if it runs. @throws RepriseError SESSION_NOT_RUNNING */
export function runningKernel<K extends LivingKernel>(
  { registry }: { registry: { kernels: ReadonlyMap<string, K> } },
  kernelId: string,
  assignment: number,
): K {
  const kernel = registry.kernels.get(kernelId)
  if (kernel !== undefined && kernel.assignment === assignment && isRunning(kernel)) return kernel
  throw new RepriseError('SESSION_NOT_RUNNING', 'the kernel does not run on its agent')
}

/** Whether a new command or connection may begin. None may begin in a kernel that is being stopped. */
export function isRunning({ phase, ending, removing, killAt }: LivingKernel): boolean {
  return phase === 'RUNNING' && ending === null && !removing && killAt === null
}
