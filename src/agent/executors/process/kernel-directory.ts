import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { mkdir, rm, rmdir, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FailureError } from '../../../domain/session/failure.ts'
import type { KernelSpec, LogStreamName } from '../../../domain/agent/protocol.ts'

/**
 * What one kernel has on disk, `<agentDir>/kernels/<kernelId>/`:
 *
 *   spec.json    written first, whole before anything runs
 *   work/        HOME, working directory and TMPDIR
 *   run.<token>  the shim's script; its presence says that a start was ordered
 *   status       the shim's: claim, begin, exit
 *   stdout stderr
 *   stop         { killAt, error } written before the first signal of a stop
 *   oom          { usedBytes, limitBytes } written before the kill of one that outgrew its memory
 *
 * Nothing is synced to the platter: what a power cut loses belonged to kernels that it ended too.
 *
 * What makes and removes names is done off the event loop: where the file system's journal is busy with a
 * database's commits each such call waits for a millisecond. Claims and marks are not: they must be there before
 * the next step, are short, and are rare.
 */
export interface KernelRecord {
  version: 1
  assignment: number
  bootId: string
  spec: KernelSpec
  /** Absent in directories from before there were ports. */
  port?: number | null
}

export interface StopMark {
  /** Milliseconds of the wall clock, so that a later instance keeps the promise. */
  killAt: number
  /** Why, where the agent itself ordered it. */
  error?: FailureError | null
}

export interface OomMark {
  usedBytes: number
  limitBytes: number
}

const ID = /^[A-Za-z0-9_-]{1,64}$/

/** Ids become names of directories and words of scripts, so that nothing else may come through. */
export function isSafeId(id: string): boolean {
  return ID.test(id)
}

/** In place of whatever was there. */
export async function createKernelDirectory(path: string, record: KernelRecord): Promise<void> {
  try {
    await mkdir(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    await removeKernelDirectory(path)
    await mkdir(path)
  }
  await writeFile(join(path, 'spec.json'), JSON.stringify(record), { mode: 0o600 })
  await mkdir(join(path, 'work'))
}

/** The order to start, from here on. */
export function writeRunScript(path: string, token: string, script: string): Promise<void> {
  return writeFile(join(path, `run.${token}`), script, { mode: 0o600 })
}

/**
 * `spec.json` first: a directory without it never ran, so that a removal cut short is not taken for a launch, and no
 * shim that is late claims a status that has just been removed.
 */
export async function removeKernelDirectory(path: string, token = ''): Promise<void> {
  for (const name of ['spec.json', `run.${token}`, 'status', 'stdout', 'stderr']) await unlinkIfThere(join(path, name))
  if ((await removeEmpty(join(path, 'work'))) && (await removeEmpty(path))) return
  await rm(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 })
}

async function unlinkIfThere(path: string): Promise<void> {
  try {
    await unlink(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
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

/** @returns null where it was never written whole: then nothing ran. */
export function readRecord(path: string): KernelRecord | null {
  const record = readJson<KernelRecord>(join(path, 'spec.json'))
  return record?.version === 1 ? record : null
}

export function wasStartOrdered(path: string): boolean {
  return readdirSync(path).some((name) => name.startsWith('run.'))
}

/**
 * Takes the place of the shim. `never`: the command has not run, and may be started anew.
 *
 * @returns false where the shim was there first
 */
export function claimStatus(path: string, word: 'never' | 'failed'): boolean {
  try {
    writeFileSync(join(path, 'status'), `${word}\n`, { flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

export function readStatus(path: string): string {
  return readText(join(path, 'status')) ?? ''
}

export function writeMark(path: string, name: 'stop', mark: StopMark): void
export function writeMark(path: string, name: 'oom', mark: OomMark): void
export function writeMark(path: string, name: string, mark: object): void {
  writeFileSync(join(path, name), JSON.stringify(mark))
}

export function readStopMark(path: string): StopMark | null {
  return readJson<StopMark>(join(path, 'stop'))
}

export function readOomMark(path: string): OomMark | null {
  return readJson<OomMark>(join(path, 'oom'))
}

export function logPath(path: string, stream: LogStreamName): string {
  return join(path, stream === 'STDOUT' ? 'stdout' : 'stderr')
}

export function logSize(path: string, stream: LogStreamName): number {
  return statSync(logPath(path, stream), { throwIfNoEntry: false })?.size ?? 0
}

/** When the shim began, and when it last wrote, as well as the file system knows. */
export function statusTimes(path: string): { startedAt: string; endedAt: string } {
  const stat = statSync(join(path, 'status'))
  const born = stat.birthtimeMs > 0 ? stat.birthtime : stat.mtime
  return { startedAt: born.toISOString(), endedAt: stat.mtime.toISOString() }
}

function readJson<T>(path: string): T | null {
  const text = readText(path)
  if (text === null) return null
  try {
    return JSON.parse(text) as T
  } catch {
    return null
  }
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
