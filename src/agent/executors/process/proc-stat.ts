import { openSync, readdirSync, readFileSync, readSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { KernelVariable } from '../../../domain/session/kernel-environment.ts'

/** The fields of `/proc/<pid>/stat` that are used here. */
export interface ProcStat {
  pid: number
  state: string
  parent: number
  /** Process group. */
  group: number
  session: number
  /** Clock ticks since boot. Together with pid and boot id this identifies a process uniquely. */
  startTicks: number
  residentPages: number
  /** CPU time in clock ticks: the process's own, and that of descendants that it has waited for. */
  ownTicks: number
  waitedTicks: number
}

let pageBytes: number | undefined
let ticks: number | undefined

/** Returns the size of a memory page: 4 KiB, on some arm64 machines 16 or 64 KiB. */
export function readPageBytes(): number {
  return (pageBytes ??= readAuxiliary(6n) ?? 4096)
}

/** Returns the resolution in which /proc counts CPU time and start times. */
export function ticksPerSecond(): number {
  return (ticks ??= readAuxiliary(17n) ?? 100)
}

/** Returns when a process started, in seconds of `uptimeSeconds`. */
export function startedAtSeconds({ startTicks }: Pick<ProcStat, 'startTicks'>): number {
  return startTicks / ticksPerSecond()
}

/** Reads an entry of the auxiliary vector, a list of word pairs (type, value). */
function readAuxiliary(type: bigint): number | null {
  const words = new BigUint64Array(new Uint8Array(readFileSync('/proc/self/auxv')).buffer)
  const at = words.findIndex((word, index) => index % 2 === 0 && word === type)
  return at < 0 ? null : Number(words[at + 1])
}

/** @returns null if the line is incomplete. The command's name may contain blanks and parentheses. */
export function parseProcStat(line: string): ProcStat | null {
  const nameEnd = line.lastIndexOf(')')
  const fields = line.slice(nameEnd + 2).split(' ')
  const stat = {
    pid: Number.parseInt(line, 10),
    state: fields[0] ?? '',
    parent: Number(fields[1]),
    group: Number(fields[2]),
    session: Number(fields[3]),
    startTicks: Number(fields[19]),
    residentPages: Number(fields[21]),
    ownTicks: Number(fields[11]) + Number(fields[12]),
    waitedTicks: Number(fields[13]) + Number(fields[14]),
  }
  return nameEnd < 0 || !Number.isSafeInteger(stat.pid + stat.session + stat.startTicks) ? null : stat
}

export function readProcStat(pid: number): ProcStat | null {
  try {
    return parseProcStat(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return null
  }
}

/** Returns the largest resident memory that the process ever had; 0 if it has ended. */
export function peakResidentBytes(pid: number): number {
  try {
    const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]
    return Number(kilobytes ?? 0) * 1024
  } catch {
    return 0
  }
}

/** A zombie counts as dead: orphans are reaped late, or never if process 1 does not reap. */
export function isAlive(process: { pid: number; startTicks: number }): boolean {
  const stat = readProcStat(process.pid)
  return stat !== null && stat.startTicks === process.startTicks && !'ZX'.includes(stat.state)
}

/** Lists all processes of the machine; takes about 15 microseconds for each. */
export function scanProcesses(): ProcStat[] {
  return readdirSync('/proc')
    .filter((name) => name.charCodeAt(0) <= 57)
    .map((name) => readProcStat(Number(name)))
    .filter((stat) => stat !== null)
}

export function readBootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()
}

const uptimeText = Buffer.alloc(64)
let uptimeFile: number | undefined

/**
 * Seconds since boot: a clock that survives the process and that cannot be set. The file stays open, so that the clock
 * can be read, and the fence renewed, when no further file can be opened. Each read from its beginning gives the present
 * time.
 */
export function uptimeSeconds(): number {
  uptimeFile ??= openSync('/proc/uptime', 'r')
  return Number.parseFloat(uptimeText.toString('latin1', 0, readSync(uptimeFile, uptimeText, 0, 64, 0)))
}

/** Identifies processes that left the kernel's session. */
export const KERNEL_ID_VARIABLE = 'REPRISE_KERNEL_ID' satisfies KernelVariable

/**
 * Reads the kernel's id from a process's environment. Not synchronous, because the operating system reads it from the
 * process's memory, which may be swapped out.
 */
export async function kernelIdOf({ pid }: Pick<ProcStat, 'pid'>): Promise<string | null> {
  const environ = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '')
  const entry = environ.split('\0').find((each) => each.startsWith(`${KERNEL_ID_VARIABLE}=`))
  return entry?.slice(KERNEL_ID_VARIABLE.length + 1) ?? null
}

/** A kernel whose processes are wanted. */
export interface RootedKernel {
  id: string
  /** The process from which the others descend. */
  first: Pick<ProcStat, 'pid' | 'startTicks'>
}

/** How long a process that belongs to no kernel is not checked again. It may become a kernel's by another `exec`. */
const STRANGER_FOR_MS = 1_000

/**
 * Finds the processes of all these kernels in one scan: the descendants of a kernel's first process, the members of
 * that process's session, and processes that left both but have the kernel's id in their environment.
 *
 * @param strangers processes that belong to no kernel, kept from one scan to the next
 */
export async function findProcesses(
  kernels: readonly RootedKernel[],
  strangers = new Map<string, number>(),
): Promise<{ id: string; stat: ProcStat }[]> {
  const byFirst = new Map(kernels.map(({ id, first }) => [first.pid, id]))
  const ids = new Set(kernels.map(({ id }) => id))
  const oldest = Math.min(...kernels.map(({ first }) => first.startTicks))
  const all = new Map(scanProcesses().map((stat) => [stat.pid, stat]))
  const found: { id: string; stat: ProcStat }[] = []
  const now = performance.now()
  for (const [key, until] of strangers) if (until < now) strangers.delete(key)
  for (const stat of all.values()) {
    const id = ownerOf(stat, all, byFirst) ?? (stat.startTicks < oldest ? undefined : await byEnvironment(stat))
    if (id !== undefined) found.push({ id, stat })
  }
  return found

  async function byEnvironment(stat: ProcStat): Promise<string | undefined> {
    const key = `${stat.pid} ${stat.startTicks}`
    if (strangers.has(key)) return undefined
    const id = await kernelIdOf(stat)
    if (id !== null && ids.has(id)) return id
    strangers.set(key, now + STRANGER_FOR_MS)
    return undefined
  }
}

function ownerOf(
  stat: ProcStat,
  all: ReadonlyMap<number, ProcStat>,
  byFirst: ReadonlyMap<number, string>,
): string | undefined {
  for (let at: ProcStat | undefined = stat; at !== undefined; at = all.get(at.parent)) {
    const id = byFirst.get(at.pid) ?? byFirst.get(at.session)
    if (id !== undefined) return id
  }
  return undefined
}

/** @returns false if there is no such process or group, or if this process may not signal it */
export function signalProcess(pid: number, signal: NodeJS.Signals | number): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}
