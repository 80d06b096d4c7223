import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { eventually } from '../eventually.ts'
import type { SpawnedProgram } from './spawned-program.ts'

/** The place where a program halts: a call of Node.js, and its argument. */
export interface HaltAt {
  /** `open`, `write`, `rename` and `symlink` of files, by path; `fetch` and `upload`, by URL; of requests, by path: `answer`, `stream`. */
  call: 'open' | 'write' | 'rename' | 'symlink' | 'fetch' | 'upload' | 'answer' | 'stream'
  /** A regular expression. */
  of: string
  side: 'before' | 'after'
  /** Which of these calls; the first. */
  times?: number
  /** A file: until it is there, that call waits, and all else goes on. Before calls that promise something. */
  once?: string
}

export interface Halt {
  /** The environment that the program needs. */
  readonly environment: Record<string, string>
  reached(): Promise<void>
}

/** @param directory where it is noted that the program stands still */
export function haltAt(directory: string, at: HaltAt): Halt {
  const halted = join(directory, 'halted')
  rmSync(halted, { force: true })
  const preloaded = String(pathToFileURL(join(import.meta.dirname, 'halting-program.ts')))
  return {
    environment: { NODE_OPTIONS: `--import=${preloaded}`, HALT_AT: JSON.stringify(at), HALTED: halted },
    reached: () =>
      eventually(() => existsSync(halted), { what: `${at.side} ${at.call} of ${at.of}`, withinMs: 120_000 }).then(
        () => undefined,
      ),
  }
}

/** SIGKILL, where it stands still. */
export async function killHalted(halt: Halt, program: SpawnedProgram): Promise<void> {
  await halt.reached()
  await program.kill()
}
