import { closeSync, constants, openSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { DISK_CHECK_INTERVAL_MS, DISK_LOW_BYTES, REFUSAL_LENGTH_MAX } from '../domain/limits.ts'
import { guarded } from '../waiting/wait.ts'
import type { Logger } from '../observability/log.ts'

const PROBE = '.disk-probe'
const PROBE_BYTES = 4096
/** By this process, or on this machine. */
const TOO_MANY_OPEN = ['EMFILE', 'ENFILE']
const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW | constants.O_NONBLOCK

/**
 * Looks whether the agent can write to its directory, and says for as long as it cannot that it takes no new kernels. A
 * kernel that is started on a full disk would fail, and what is left belongs to those that run: how they end has to be
 * written down.
 *
 * @param spaceIsBack called when it can write again
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

/** Errors of a disk, of open files and of processes that another try may not meet. */
const PASSING = ['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN']

export function isPassing(error: unknown): boolean {
  return PASSING.includes((error as NodeJS.ErrnoException).code ?? '')
}

/** Why nothing can be written there, for people; null if it can be. */
export function diskFault(directory: string): string | null {
  return lookAt(directory).fault
}

interface Found {
  fault: string | null
  /** files: it is no fault of the disk, which takes what programs write. */
  source: 'disk' | 'files'
}

function lookAt(directory: string): Found {
  const full = fullness(directory)
  return full === null ? writeFault(directory) : { fault: full, source: 'disk' }
}

function fullness(directory: string): string | null {
  const { bavail, bsize, files, ffree } = statfsSync(directory)
  const free = bavail * bsize
  if (free < DISK_LOW_BYTES) return `the disk of ${directory} is full: ${free} bytes are left`
  if (files > 0 && ffree === 0) return `the disk of ${directory} is full: no further file can be made`
  return null
}

/** What the figures do not say: a quota, a file system that has become read-only, or a disk that fails. */
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

type RefusalSource = 'disk' | 'files' | 'isolation'

/** Why an agent takes no new kernels: each source has its own reason, or none. What runs goes on. */
interface Refusals {
  /** All reasons, for people; null while it takes them. */
  readonly reason: string | null
  has(source: RefusalSource): boolean
  set(source: RefusalSource, reason: string | null): void
}

/** @param changed called whenever the reason is another one */
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
      else log.error({ reason: now }, 'this agent takes no new kernels; those that run go on')
      changed()
    },
  }
}
