import { parseCpuMeter, parsePeak } from '../process/limits/cgroup-limits.ts'
import type { ClockReading } from '../time-limit.ts'
import { parseProcStat, type ProcStat, startedAtSeconds, ticksPerSecond } from '../process/proc-stat.ts'

/** The content of `status`. Its writers are the shim, the isolation's first process, and an agent that claims. */
export interface ShimStatus {
  shim: ProcStat | null
  /** Machine uptime when the shim began. */
  beganAtSeconds: number | null
  used: ShimUsage | null
  exitCode: number | null
  /** The command could not enter its cgroup. */
  outsideCgroup: boolean
  /** An agent claimed the start before the shim, so the command did not run. */
  never: boolean
  /** The first process of the kernel's PID namespace, as seen from outside; null without one. */
  innerPid: number | null
  /** The number of that namespace; null if it is not reported. */
  innerNamespace: number | null
  /** Both clocks when a container began. The agent writes them. */
  clocks: ClockReading | null
  /** The first process can take signals, and has begun the command. */
  inside: boolean
}

/** The figures that the shim read when no process of its command was left. */
export interface ShimUsage {
  /** Machine uptime when the command itself ended. A shim of an older version reports the time below instead. */
  commandEndedAtSeconds: number
  /** Machine uptime when no process of the command was left. */
  endedAtSeconds: number
  /** From the cgroup; null if the cgroup does not count it. */
  peakMemoryBytes: number | null
  cpuSeconds: number | null
  /** CPU time of the command, and of each descendant that its parent has waited for. */
  waitedCpuSeconds: number
}

/**
 * @param text the shim's own stat line, a bar, and the uptime; a shim of an older version writes the stat line alone
 */
export function parseBegan(text: string): Pick<ShimStatus, 'shim' | 'beganAtSeconds'> {
  const shim = parseProcStat(text)
  const uptime = text.slice(text.lastIndexOf('|') + 1)
  const beganAtSeconds = SECONDS.test(uptime) ? Number(uptime) : shim === null ? null : startedAtSeconds(shim)
  return { shim, beganAtSeconds }
}

/** @param text uptime, memory meter, CPU meter, the shim's own stat line and the command's end, separated by bars */
export function parseShimUsage(text: string): ShimUsage | null {
  const [uptime = '', peak = '', cpu = '', ...rest] = text.split('|')
  const stat = parseProcStat(rest.join('|'))
  if (stat === null || !SECONDS.test(uptime)) return null
  const end = rest.at(-1)!
  return {
    commandEndedAtSeconds: Number(SECONDS.test(end) ? end : uptime),
    endedAtSeconds: Number(uptime),
    peakMemoryBytes: parsePeak(peak),
    cpuSeconds: parseCpuMeter(cpu),
    waitedCpuSeconds: stat.waitedTicks / ticksPerSecond(),
  }
}

const SECONDS = /^\d+(\.\d+)?$/

export function parseStatus(text: string): ShimStatus {
  const status: ShimStatus = {
    shim: null,
    beganAtSeconds: null,
    used: null,
    exitCode: null,
    outsideCgroup: false,
    never: false,
    innerPid: null,
    innerNamespace: null,
    clocks: null,
    inside: false,
  }
  for (const line of text.split('\n').slice(0, -1)) applyStatusLine(status, line)
  return status
}

function applyStatusLine(status: ShimStatus, line: string): void {
  const [word, rest] = splitOnce(line.trimStart())
  if (word === 'began') Object.assign(status, parseBegan(rest))
  if (word === 'used') status.used = parseShimUsage(rest)
  if (word === 'exit') status.exitCode = Number(rest)
  if (word === 'outside') status.outsideCgroup = true
  if (word === 'never') status.never = true
  if (word === 'inside') status.inside = true
  if (word === 'clocks') status.clocks = parseClocks(rest)
  // Written by bubblewrap as one JSON object, a line for each property.
  if (word === '"child-pid":') status.innerPid = Number.parseInt(rest, 10)
  if (word === '"pid-namespace":') status.innerNamespace = Number.parseInt(rest, 10)
}

function parseClocks(text: string): ClockReading | null {
  const [uptime, wallMs] = text.split(' ').map(Number)
  return Number.isFinite(uptime) && Number.isFinite(wallMs) ? { uptime: uptime!, wallMs: wallMs! } : null
}

export function splitOnce(line: string): [string, string] {
  const blank = line.indexOf(' ')
  return blank < 0 ? [line, ''] : [line.slice(0, blank), line.slice(blank + 1)]
}
