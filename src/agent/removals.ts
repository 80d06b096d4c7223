import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../observability/error-message.ts'
import type { Logger } from '../observability/log.ts'
import { guarded, reconnectPauseMs } from '../waiting/wait.ts'
import { isPassing } from './disk-watch.ts'
import { BIN, DROPPED, dropSync, emptyBin, moveIntoBin, newBin } from './remove-tree.ts'

/** Longest pass over one tree, before the others get their turn. */
const PASS_MS = 1_000
/** Half of libuv's threads; launches need the other half. */
const AT_ONCE_MAX = 2

/** Removes directories in the background, in passes of limited length, taking turns. */
export interface Removals {
  /**
   * Frees the name before it returns. The removal itself happens in the background, or in the next instance of the
   * agent.
   *
   * @returns whether there was something at the path
   * @throws if it cannot be renamed
   */
  drop(path: string): boolean
  /** Continues with directories that earlier instances have dropped in this directory. */
  resume(directory: string): Promise<void>
  /** Starts no further pass. Resolves when the current passes have ended. */
  close(): Promise<void>
}

interface Removal {
  path: string
  /** Null until the tree has been moved into a bin. */
  bin: string | null
  /** Passes that have failed. */
  failures: number
}

/** @param passMs 0 means one pass per file, for tests */
export function createRemovals({ log, passMs = PASS_MS }: { log: Logger; passMs?: number }): Removals {
  const waiting: Removal[] = []
  const working = new Set<Promise<void>>()
  const postponed = new Set<NodeJS.Timeout>()
  let workers = 0
  let closed = false

  function add(removal: Removal): void {
    waiting.push(removal)
    if (closed || workers === AT_ONCE_MAX) return
    workers++
    const work = workThrough().finally(() => working.delete(work))
    working.add(work)
  }

  function postpone(removal: Removal): void {
    const again = () => {
      postponed.delete(timer)
      add(removal)
    }
    const timer = setTimeout(
      guarded(again, () => {}),
      reconnectPauseMs(removal.failures, Math.random()),
    ).unref()
    postponed.add(timer)
  }

  const next = () => (closed ? undefined : waiting.shift())

  /** Never rejects. */
  async function workThrough(): Promise<void> {
    for (let removal = next(); removal !== undefined; removal = next()) {
      try {
        if (await isMoreLeft(removal)) waiting.push(removal)
      } catch (error) {
        const passes = isPassing(error)
        removal.failures++
        if (passes && !closed) postpone(removal)
        if (removal.failures > 1) continue
        log.warn(
          { path: removal.bin ?? removal.path, error: messageOf(error) },
          `unneeded files could not be removed; ${passes ? 'it is tried again' : 'the next start tries again'}`,
        )
      }
    }
    // The count falls in the same step in which the list was found empty, so that a later entry starts a new worker.
    workers--
  }

  /** @throws if a pass has removed nothing */
  async function isMoreLeft(removal: Removal): Promise<boolean> {
    if (removal.bin === null) {
      const bin = newBin(removal.path)
      if (!(await moveIntoBin(removal.path, bin))) return false
      removal.bin = bin
    }
    const { gone, count, fault } = await emptyBin(removal.bin, passMs)
    if (!gone && count === 0) throw fault ?? new Error('new entries keep appearing in it')
    return !gone
  }

  return {
    drop(path) {
      try {
        add({ path: dropSync(path), bin: null, failures: 0 })
        return true
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
        throw error
      }
    },
    async resume(directory) {
      for (const name of await readdir(directory)) {
        const path = join(directory, name)
        if (name.startsWith(DROPPED)) add({ path, bin: null, failures: 0 })
        if (name.startsWith(BIN)) add({ path, bin: path, failures: 0 })
      }
    },
    async close() {
      closed = true
      for (const timer of postponed) clearTimeout(timer)
      await Promise.all(working)
    },
  }
}

/** Whether the name belongs to an unfinished removal. */
export function isDropped(name: string): boolean {
  return name.startsWith(DROPPED) || name.startsWith(BIN)
}
