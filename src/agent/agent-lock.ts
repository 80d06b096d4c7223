import { linkSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { v7 as uuidv7 } from 'uuid'
import { readControlFile } from './control-file.ts'
import { isAlive, readBootId, readProcStat } from './executors/process/proc-stat.ts'

interface Holder {
  pid: number
  startTicks: number
  bootId: string
  /** Distinguishes two locks of one process. */
  nonce: string
}

/**
 * `agent.lock` allows one agent per directory. The file names a process by pid, start time and boot id, and is stale
 * once that process has ended. The agent creates it by `link`, so it never exists without its content. A stale lock is
 * removed by `rename`, which succeeds for only one of several contenders. A contender that has moved away a fresh lock
 * puts it back.
 *
 * @throws Error if another agent holds the lock
 */
export function acquireAgentLock(agentDir: string): { release(): void } {
  const path = join(agentDir, 'agent.lock')
  const mine: Holder = { ...ownProcess(), bootId: readBootId(), nonce: uuidv7() }
  const draft = `${path}.${mine.nonce}`
  try {
    writeFileSync(draft, JSON.stringify(mine))
    while (!tryLink(draft, path)) removeStale(path, agentDir)
  } finally {
    rmSync(draft, { force: true })
  }
  return {
    release() {
      if (readHolder(path)?.nonce === mine.nonce) rmSync(path)
    },
  }
}

function removeStale(path: string, agentDir: string): void {
  const holder = readHolder(path)
  if (holder !== null && holds(holder)) {
    throw new Error(`${agentDir} belongs to an agent that runs, process ${holder.pid}`)
  }
  const aside = `${path}.stale-${uuidv7()}`
  try {
    renameSync(path, aside)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  const taken = readHolder(aside)
  if (taken !== null && holds(taken)) tryLink(aside, path)
  rmSync(aside)
}

function holds(holder: Holder): boolean {
  return holder.bootId === readBootId() && isAlive(holder)
}

function ownProcess(): { pid: number; startTicks: number } {
  const { pid } = process
  return { pid, startTicks: readProcStat(pid)?.startTicks ?? 0 }
}

function readHolder(path: string): Holder | null {
  try {
    return JSON.parse(readControlFile(path) ?? '') as Holder
  } catch {
    return null
  }
}

function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}
