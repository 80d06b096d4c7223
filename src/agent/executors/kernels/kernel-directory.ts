import { linkSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { chown, lstat, mkdir, readdir, rmdir, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { CountedUsage } from '../../gpus/gpu-usage.ts'
import { readKernelUsage } from '../../../domain/agent/kernel-report.ts'
import type { KernelSpec, LogStreamName } from '../../../domain/agent/protocol.ts'
import type { Owner } from '../../../archive/extract-archive.ts'
import type { FailureError } from '../../../domain/session/failure.ts'
import { readControlFile, regularFileSize, statIfThere, writeControlFile } from '../../control-file.ts'
import { unlock } from '../../remove-tree.ts'
import type { Removals } from '../../removals.ts'
import { execFile } from 'node:child_process'
import { systemProgram } from '../../../machine/system-programs.ts'

/**
 * The files of one kernel, in `<agentDir>/kernels/<kernelId>/`:
 *
 *   spec.json    written first, and complete before anything runs
 *   work/        HOME, working directory and TMPDIR; OUTPUT_DIR in it is REPRISE_OUTPUT_DIR
 *   tmp/         mounted as /tmp, if the kernel has a mount namespace
 *   run.<token>  the shim's script; its presence means that a start was ordered
 *   status       written by the shim (claim, begin, exit) and by the isolation's first process; status.claim is its draft
 *   stdout stderr
 *   stdout.cut   number of bytes cut off, and length of the note about it; the keeper writes this and stderr.cut
 *   stop         { killAt, error, at } written before the first signal of a stop
 *   oom          { usedBytes, limitBytes, atEnd } written before a kernel over its memory limit is killed, or at its end
 *   gpus         the kernel's GPUs; see GpuMark
 *   gpu-usage    what it has used of them
 *   devices      the GPUs that Slurm has given to a job, as JSON; its list of all is devices.new
 *   device-use   what a job has used of them; see COUNT_DEVICES_FUNCTION
 *   usage        resources used, if the shim cannot report them; see UsageMark
 *   job/         status, stdout, stderr, devices and device-use, if the kernel's own user writes them; see KernelEntry.outputPath
 *
 * Nothing is fsynced: a power failure also ends the kernels whose files it loses.
 *
 * Files are created and removed off the event loop, since each such call takes a millisecond while the file system's
 * journal is busy with database commits. Claims and marks are written synchronously: they must exist before the next
 * step, and are short and rare.
 */
export interface KernelRecord {
  version: 1
  assignment: number
  bootId: string
  spec: KernelSpec
  /** Absent in directories written by older versions. */
  port?: number | null
  /** The operating system's user who runs the kernel, if it is not the agent's. */
  user?: Owner | null
}

export interface StopMark {
  /** Wall-clock time in milliseconds, so that a later instance can apply it. */
  killAt: number
  /** Reason of the stop, if the agent itself ordered it. */
  error?: FailureError | null
  /** Machine uptime when the stop was ordered. Absent in marks written by older versions. */
  at?: number
  /** The processes were asked to end. Another instance must not ask them again: see `askToEnd`. */
  asked?: boolean
}

export interface OomMark {
  usedBytes: number
  limitBytes: number
  /** It was written when the kernel had ended: a process of it was certainly killed. */
  atEnd?: true
}

/** Written while a kernel runs that no cgroup counts, and at the end of a kernel whose shim was killed. */
export interface UsageMark {
  peakMemoryBytes: number | null
  cpuSeconds: number | null
  /** Null while it runs. */
  wallSeconds: number | null
}

/** The GPUs that were chosen for a kernel, written before it can run. */
export interface GpuMark {
  uuids: string[]
}

export interface Marks {
  gpus: GpuMark
  /** What it has used of its GPUs so far. */
  'gpu-usage': CountedUsage
  stop: StopMark
  oom: OomMark
  usage: UsageMark
}

/** A few more entries than the agent itself creates. */
const FEW_ENTRIES_MAX = 16

/** The directory, below the working directory, whose whole content is an output. */
export const OUTPUT_DIR = '.reprise-output'

const ID = /^[A-Za-z0-9_-]{1,64}$/

/** Whether an id is safe as a directory name and as a word in a shell script. Others are refused. */
export function isSafeId(id: string): boolean {
  return ID.test(id)
}

/** The owner of the directories that the program may write. */
export interface DirectoryOwner {
  /** Null for the agent's own user. */
  owner: Owner | null
  /** Names of further directories beside `work`: `tmp`, for a kernel with its own `/tmp`. */
  more?: readonly string[]
}

/** Creates the directory, and replaces an existing one. */
export async function createKernelDirectory(
  path: string,
  record: KernelRecord,
  places: DirectoryOwner,
  removals: Removals,
): Promise<void> {
  const { owner, more = [] } = places
  const mode = owner === null ? 0o700 : 0o711
  try {
    await mkdir(path, mode)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    await removeKernelDirectory(path, removals)
    await mkdir(path, mode)
  }
  await writeFile(join(path, 'spec.json'), JSON.stringify(record), { mode: 0o600 })
  for (const name of ['work', ...more]) await makeOwn(join(path, name), owner)
  await makeOwn(join(path, 'work', OUTPUT_DIR), owner)
}

export async function makeOwn(path: string, owner: Owner | null): Promise<void> {
  await mkdir(path, 0o700)
  if (owner !== null) await chown(path, owner.uid, owner.gid)
}

/**
 * Writes the run script. From here on the start counts as ordered, also for later instances.
 *
 * @param reader user who reads the script, besides root; null for the agent's own user
 */
export async function writeRunScript(
  path: string,
  token: string,
  script: string,
  reader: Owner | null = null,
): Promise<void> {
  const file = join(path, `run.${token}`)
  await writeFile(file, script, { mode: 0o600 })
  if (reader !== null) await chown(file, reader.uid, reader.gid)
}

/**
 * Removes `spec.json` first: a directory without it counts as never run. So an interrupted removal does not look like a
 * launch, and a late shim runs nothing after its `status` has been removed. The program may have replaced any entry, so
 * no link is followed. A large directory is renamed at once, and deleted in the background.
 */
export async function removeKernelDirectory(path: string, removals: Removals): Promise<void> {
  const isDirectory = (await lstat(path).catch(() => null))?.isDirectory()
  if (isDirectory !== true) return unlinkFile(path)
  await unlinkFile(join(path, 'spec.json')).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EACCES') throw error
    await unlock(path)
    await unlinkFile(join(path, 'spec.json'))
  })
  if (!(await removeFew(path))) removals.drop(path)
}

/** Removes the directory at once if it has few entries, as most do. */
async function removeFew(path: string): Promise<boolean> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => null)
  if (entries === null || entries.length > FEW_ENTRIES_MAX) return false
  await removeEmpty(join(path, 'work', OUTPUT_DIR))
  for (const entry of entries) {
    const each = join(path, entry.name)
    if (!entry.isDirectory()) await unlinkFile(each)
    else if (!(await removeEmpty(each))) return false
  }
  return removeEmpty(path)
}

/** Removes a file. A directory in its place is removed later, with the rest. */
async function unlinkFile(path: string): Promise<void> {
  try {
    await unlink(path)
  } catch (error) {
    if (!['ENOENT', 'EISDIR', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}

async function removeEmpty(path: string): Promise<boolean> {
  try {
    await rmdir(path)
    return true
  } catch {
    return false
  }
}

/** @returns null if it was never completely written; then nothing ran */
export function readRecord(path: string): KernelRecord | null {
  const record = readJson<Partial<KernelRecord>>(join(path, 'spec.json'))
  const whole =
    record?.version === 1 && typeof record.spec?.kernelId === 'string' && Number.isInteger(record.assignment)
  return whole ? (record as KernelRecord) : null
}

/** Reads the record in a directory that its program may have locked, which is possible without isolation. */
export async function readLockedRecord(path: string): Promise<KernelRecord | null> {
  try {
    return readRecord(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error
    await unlock(path)
    return readRecord(path)
  }
}

export function wasStartOrdered(path: string): boolean {
  return readdirSync(path).some((name) => name.startsWith('run.'))
}

/**
 * Claims the start in place of the shim, so that the command can no longer run. `never` marks a kernel that may be
 * started again. `claimed` is the claim of a container, with its id: the agent itself starts it.
 *
 * @returns false if another claim came first
 */
export function claimStatus(path: string, word: 'never' | 'failed' | `claimed ${string}`): boolean {
  const status = join(path, 'status')
  const draft = `${status}.claim`
  try {
    if (statIfThere(status) !== null) return false
    // The claim is linked once it is complete, because a full disk must not leave half a claim.
    rmSync(draft, { force: true })
    writeFileSync(draft, `${word}\n`, { flag: 'wx' })
    linkSync(draft, status)
    rmSync(draft)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** Removes a claim, for an executor in which only this agent claims. */
export function dropClaim(path: string): void {
  rmSync(join(path, 'status'), { force: true })
}

export function readStatus(path: string): string {
  return readControlFile(join(path, 'status')) ?? ''
}

export function writeMark<Name extends keyof Marks>(path: string, name: Name, mark: Marks[Name]): void {
  writeControlFile(join(path, name), JSON.stringify(mark))
}

export function readStopMark(path: string): StopMark | null {
  const mark = readJson<StopMark>(join(path, 'stop'))
  return typeof mark?.killAt === 'number' ? mark : null
}

export function readOomMark(path: string): OomMark | null {
  const mark = readJson<OomMark>(join(path, 'oom'))
  return typeof mark?.usedBytes === 'number' ? mark : null
}

export function readGpuMark(path: string): GpuMark | null {
  const mark = readJson<GpuMark>(join(path, 'gpus'))
  return Array.isArray(mark?.uuids) && mark.uuids.every((uuid) => typeof uuid === 'string') ? mark : null
}

export function readGpuUsageMark(path: string): CountedUsage | null {
  const mark = readJson<CountedUsage>(join(path, 'gpu-usage'))
  return typeof mark?.gpuSeconds === 'number' ? mark : null
}

export function readUsageMark(path: string): UsageMark | null {
  return readKernelUsage(readJson(join(path, 'usage')))
}

export function logPath(path: string, stream: LogStreamName): string {
  return join(path, stream === 'STDOUT' ? 'stdout' : 'stderr')
}

export function logSize(path: string, stream: LogStreamName): number {
  return regularFileSize(logPath(path, stream))
}

/** Returns when the shim began and when it last wrote, according to the file system. */
export function statusTimes(path: string): { startedAt: string; endedAt: string } {
  const stat = statIfThere(join(path, 'status'))
  if (stat === null) return { startedAt: new Date().toISOString(), endedAt: new Date().toISOString() }
  const born = stat.birthtimeMs > 0 ? stat.birthtime : stat.mtime
  return { startedAt: born.toISOString(), endedAt: stat.mtime.toISOString() }
}

function readJson<T>(path: string): T | null {
  const text = readControlFile(path)
  if (text === null) return null
  try {
    const value = JSON.parse(text) as T
    return typeof value === 'object' ? value : null
  } catch {
    return null
  }
}

/** Returns the owner for a project's user, whose group has the same number; null for the agent's own user. */
export function ownerOf(uid: number | null): Owner | null {
  return uid === null ? null : { uid, gid: uid }
}

/**
 * Makes ext4 spread subdirectories over the disk instead of placing them together. When ext4 allocates a file, it skips
 * every nearby inode that was freed within the last minutes. With a thousand short kernels that costs 0.5 ms of CPU
 * time per file, and a kernel has eight files. Spreading avoids most of that cost. Other file systems have neither the
 * flag nor the search, so a failure to set the flag is ignored.
 */
export function spreadDirectories(paths: readonly string[]): void {
  if (process.platform === 'linux') execFile(systemProgram('chattr'), ['+T', ...paths], { env: {} }, () => undefined)
}
