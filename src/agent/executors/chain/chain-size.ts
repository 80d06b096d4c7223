import { opendir } from 'node:fs/promises'
import { spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import { systemPath, systemProgram } from '../../../machine/system-programs.ts'
import { killAfter, withPipes } from '../process/shell.ts'

/** Time limit of a measurement, in which about ten million files are counted. A larger tree is not measured. */
const MEASURE_WITHIN_MS = 60_000

/**
 * Returns the disk space of a chain's directory, or the number of its files and directories. Another process with low
 * priority measures it, since a tree of a million files takes seconds. Follows no links, enters no other file system,
 * and counts a file with several names once.
 *
 * @returns null if it could not be measured
 */
export async function chainSize(path: string, unit: 'bytes' | 'files'): Promise<number | null> {
  if (await isEmpty(path)) return 0
  const first = await measure(path, unit)
  if (!first.refused || process.getuid!() === 0) return first.size
  // Such directories belong to the agent's own user, but their mode hides their content from it.
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

/** Runs `du`. It fails if a file vanishes meanwhile, but counts the rest. */
async function measure(path: string, unit: 'bytes' | 'files'): Promise<{ size: number | null; refused: boolean }> {
  const options = unit === 'bytes' ? ['-skx'] : ['-sx', '--inodes']
  const { stdout, refused } = await runInBackground(['du', ...options, path], { withinMs: MEASURE_WITHIN_MS })
  const counted = /^\d+/.exec(stdout)?.[0]
  if (counted === undefined) return { size: null, refused }
  // `du` counts the directory itself, too.
  return { size: unit === 'bytes' ? Number(counted) * 1024 : Number(counted) - 1, refused }
}

const OUTPUT_MAX = 64 * 1024

interface BackgroundCommand {
  /** Null if it was killed or could not be started. */
  code: number | null
  stdout: string
  /** The program was refused access to something. */
  refused: boolean
}

/**
 * Runs a program of the system on files that kernels have left, with low priority and in the C locale. Any amount of
 * error output is accepted. The agent does not wait for it when it stops.
 */
export function runInBackground(
  [command, ...args]: readonly [string, ...string[]],
  { withinMs }: { withinMs?: number } = {},
): Promise<BackgroundCommand> {
  const { promise, resolve } = Promise.withResolvers<BackgroundCommand>()
  const started = spawn(systemProgram('nice'), ['-n', '19', systemProgram(command), ...args], {
    env: { PATH: systemPath(), LC_ALL: 'C' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  if (withinMs !== undefined) killAfter(started, withinMs)
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
