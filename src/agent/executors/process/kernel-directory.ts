import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { KernelSpec, LogStreamName } from '../../../domain/agent/protocol.ts'

/**
 * What one kernel has on disk, `<agentDir>/kernels/<kernelId>/`:
 *
 *   spec.json    written first, whole before anything runs
 *   work/ tmp/   HOME and working directory, TMPDIR
 *   run.<token>  the shim's script; its presence says that a start was ordered
 *   status       the shim's: claim, begin, exit (see shim.ts)
 *   stdout stderr
 *   stop         { killAt } written before the first signal of a stop
 *   oom          { usedBytes, limitBytes } written before the kill of one that outgrew its memory
 *
 * Nothing is synced to the platter: what a power cut loses belonged to kernels that it ended too.
 */
export interface KernelRecord {
  version: 1
  assignment: number
  bootId: string
  spec: KernelSpec
}

export interface StopMark {
  /** Milliseconds of the wall clock, so that a later instance keeps the promise. */
  killAt: number
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

export async function createKernelDirectory(path: string, record: KernelRecord): Promise<void> {
  await mkdir(path).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
    await removeKernelDirectory(path)
    await mkdir(path)
  })
  await writeFile(join(path, 'spec.json'), JSON.stringify(record), { mode: 0o600 })
  await mkdir(join(path, 'work'))
  await mkdir(join(path, 'tmp'))
}

export function removeKernelDirectory(path: string): Promise<void> {
  return rm(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 })
}

/** @returns null where it was never written whole: then nothing ran. */
export function readRecord(path: string): KernelRecord | null {
  const record = readJson<KernelRecord>(join(path, 'spec.json'))
  return record?.version === 1 ? record : null
}

export async function wasStartOrdered(path: string): Promise<boolean> {
  return (await readdir(path)).some((name) => name.startsWith('run.'))
}

/** @returns false where the shim was there first. */
export function claimStatus(path: string): boolean {
  try {
    writeFileSync(join(path, 'status'), '', { flag: 'wx' })
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
