import { readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { type CheckpointMark, readFoundCheckpoint } from '../../../domain/agent/checkpoint.ts'

/** Beside a chain's directory: which attempt last had it, and what it found. A link, whose target is made in one step. */
const MARK = '.attempt-'
const TEXT = /^(?<attempt>[1-9]\d{0,9}) (?<state>NONE|HERE|FETCHED|MISSING) (?<from>\d{0,10})$/

export function readChainMark(directory: string): CheckpointMark | null {
  try {
    const { attempt, state, from } = TEXT.exec(readlinkSync(pathOf(directory)))?.groups ?? {}
    if (attempt === undefined) return null
    const found = readFoundCheckpoint({ state, attempt: from === '' ? null : Number(from) })
    return { attempt: Number(attempt), found }
  } catch {
    return null
  }
}

export function writeChainMark(directory: string, { attempt, found }: CheckpointMark): void {
  const target = `${attempt} ${found?.state ?? 'NONE'} ${found?.attempt ?? ''}`
  const path = pathOf(directory)
  try {
    symlinkSync(target, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    const draft = `${path}.${process.pid}`
    rmSync(draft, { force: true })
    symlinkSync(target, draft)
    renameSync(draft, path)
  }
}

export function removeChainMark(directory: string): void {
  rmSync(pathOf(directory), { force: true })
}

function pathOf(directory: string): string {
  return join(dirname(directory), `${MARK}${basename(directory)}`)
}
