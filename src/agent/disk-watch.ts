import { closeSync, constants, openSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { DISK_CHECK_INTERVAL_MS, DISK_LOW_BYTES, REFUSAL_LENGTH_MAX } from '../domain/limits.ts'
import { guarded } from '../waiting/wait.ts'
import type { Logger } from '../observability/log.ts'
import { describeBytes } from '../domain/amounts.ts'

const PROBE = '.disk-probe'
const PROBE_BYTES = 4096
/** Too many open files in this process, or on this machine. */
const TOO_MANY_OPEN = ['EMFILE', 'ENFILE']
const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW | constants.O_NONBLOCK

/**
 * Checks regularly whether the agent can write to its directory. While it cannot, the agent takes no new kernels: on a
 * full disk they would fail, and the remaining space is needed to record how the running kernels end.
 *
 * @param spaceIsBack called when the agent can write again
 */
export function watchDisk(agentDir: string, refusals: Refusals, spaceIsBack: () => void): { close(): void } {
  const look = () => {
    const was = refusals.has('disk')
    const { fault, source } = lookAt(agentDir)
    refusals.set('disk', source === 'disk' ? fault : null)
    refusals.set('files', source === 'files' ? fault : null)
    if (was && !refusals.has('disk')) spaceIsBack()
  }
  look()
  const timer = setInterval(
    guarded(look, () => {}),
    DISK_CHECK_INTERVAL_MS,
  ).unref()
  return { close: () => clearInterval(timer) }
}

/** Errors of a disk, of open files and of processes that may be gone at the next try. */
const PASSING = ['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN']

export function isPassing(error: unknown): boolean {
  return PASSING.includes((error as NodeJS.ErrnoException).code ?? '')
}

/** Returns why nothing can be written to the directory, as text for people, or null if writing works. */
export function diskFault(directory: string): string | null {
  return lookAt(directory).fault
}

interface Found {
  fault: string | null
  /** 'files': the process has too many open files, while the disk works for other programs. */
  source: 'disk' | 'files'
}

function lookAt(directory: string): Found {
  const full = fullness(directory)
  return full === null ? writeFault(directory) : { fault: full, source: 'disk' }
}

function fullness(directory: string): string | null {
  const { bavail, bsize, files, ffree } = statfsSync(directory)
  const free = bavail * bsize
  if (free < DISK_LOW_BYTES) return `the disk of ${directory} is full: ${describeBytes(free)} are left`
  if (files > 0 && ffree === 0) return `the disk of ${directory} is full: no further file can be made`
  return null
}

/**
 * Writes a file to find what the figures do not show: a quota, a file system that became read-only, or a failing disk.
 */
function writeFault(directory: string): Found {
  const path = join(directory, PROBE)
  try {
    const fd = openSync(path, CREATE, 0o600)
    try {
      writeSync(fd, Buffer.alloc(PROBE_BYTES, 1))
    } finally {
      closeSync(fd)
    }
    return { fault: null, source: 'disk' }
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    if (TOO_MANY_OPEN.includes(code)) return { fault: `too many files are open: ${message}`, source: 'files' }
    return { fault: `${directory} cannot be written: ${message}`, source: 'disk' }
  } finally {
    rmSync(path, { force: true })
  }
}

type RefusalSource = 'disk' | 'files' | 'isolation' | 'fence'

/** The reasons why an agent takes no new kernels, at most one from each source. Running kernels continue. */
interface Refusals {
  /** All reasons as text for people, or null while the agent takes new kernels. */
  readonly reason: string | null
  has(source: RefusalSource): boolean
  set(source: RefusalSource, reason: string | null): void
}

/** @param changed called whenever the reason changes */
export function createRefusals(log: Logger, changed: () => void): Refusals {
  const reasons = new Map<string, string>()
  const all = () => (reasons.size === 0 ? null : [...reasons.values()].join('; ').slice(0, REFUSAL_LENGTH_MAX))
  return {
    get reason() {
      return all()
    },
    has: (source) => reasons.has(source),
    set(source, reason) {
      const before = all()
      if (reason === null) reasons.delete(source)
      else reasons.set(source, reason)
      const now = all()
      if (now === before) return
      if (now === null) log.info('this agent takes new kernels again')
      else log.error({ reason: now }, 'this agent takes no new kernels; running kernels continue')
      changed()
    },
  }
}
