import { readdirSync, readFileSync } from 'node:fs'

/** The fields of `/proc/<pid>/stat` that are used here. */
export interface ProcStat {
  pid: number
  state: string
  parent: number
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

/** Seconds since boot: a clock that survives the process and that nobody can set. */
export function uptimeSeconds(): number {
  return Number.parseFloat(readFileSync('/proc/uptime', 'latin1'))
}

/** @returns false if there is no such process or group */
export function signalProcess(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}
