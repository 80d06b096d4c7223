import { opendir } from 'node:fs/promises'
import { spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import { systemPath, systemProgram } from '../../../machine/system-programs.ts'
import { withPipes } from '../process/shell.ts'

/** A tree that takes longer is not measured this time: some ten million files. */
const MEASURE_WITHIN_MS = 60_000

/**
 * What the files of a chain's directory take on the disk, or how many files and directories there are in it. Measured
 * by another process with low priority: a tree of a million files takes it seconds. Follows no links, enters no other
 * file system, counts a file with several names once.
 *
 * @returns null if it could not be measured
 */
export async function chainSize(path: string, unit: 'bytes' | 'files'): Promise<number | null> {
  if (await isEmpty(path)) return 0
  const first = await measure(path, unit)
  if (!first.refused || process.getuid!() === 0) return first.size
  // Of the agent's own user, and hidden from it by their mode.
  const hidden = ['-type', 'd', '!', '-perm', '-700', '-exec', 'chmod', 'u+rwx', '{}', ';']
  await runInBackground(['find', path, '-xdev', ...hidden], { withinMs: MEASURE_WITHIN_MS })
  return (await measure(path, unit)).size
}

async function isEmpty(path: string): Promise<boolean> {
  try {
    await using directory = await opendir(path)
    return (await directory.read()) === null
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT'
  }
}

/** What vanishes meanwhile makes `du` fail, but it counts the rest. */
async function measure(path: string, unit: 'bytes' | 'files'): Promise<{ size: number | null; refused: boolean }> {
  const options = unit === 'bytes' ? ['-skx'] : ['-sx', '--inodes']
  const { stdout, refused } = await runInBackground(['du', ...options, path], { withinMs: MEASURE_WITHIN_MS })
  const counted = /^\d+/.exec(stdout)?.[0]
  if (counted === undefined) return { size: null, refused }
  // The directory itself is not in it.
  return { size: unit === 'bytes' ? Number(counted) * 1024 : Number(counted) - 1, refused }
}

const OUTPUT_MAX = 64 * 1024

interface BackgroundCommand {
  /** Null if it was killed or could not be started. */
  code: number | null
  stdout: string
  /** It was denied something. */
  refused: boolean
}

/**
 * Runs a program of the system over what kernels have left: with low priority, in the C locale, and however much it has
 * to complain about. An agent that stops does not wait for it.
 */
export function runInBackground(
  [command, ...args]: readonly [string, ...string[]],
  { withinMs }: { withinMs?: number } = {},
): Promise<BackgroundCommand> {
  const { promise, resolve } = Promise.withResolvers<BackgroundCommand>()
  const started = spawn(systemProgram('nice'), ['-n', '19', systemProgram(command), ...args], {
    env: { PATH: systemPath(), LC_ALL: 'C' },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(withinMs !== undefined && { timeout: withinMs, killSignal: 'SIGKILL' as const }),
  })
  let child: typeof started
  try {
    child = withPipes(started)
  } catch {
    return Promise.resolve({ code: null, stdout: '', refused: false })
  }
  let [stdout, complaints, refused] = ['', '', false]
  child.stdout.setEncoding('latin1').on('data', (text: string) => {
    if (stdout.length < OUTPUT_MAX) stdout += text
  })
  child.stderr.setEncoding('latin1').on('data', (text: string) => {
    complaints = complaints.slice(-100) + text
    refused ||= complaints.includes('Permission denied')
  })
  child.unref()
  for (const stream of [child.stdout, child.stderr]) (stream as Socket).unref()
  child.once('error', () => resolve({ code: null, stdout: '', refused: false }))
  child.once('close', (code) => resolve({ code, stdout, refused }))
  return promise
}
