import { execFile } from 'node:child_process'
import { opendir } from 'node:fs/promises'

/** A tree that takes longer is not measured at this look: some ten million files. */
const MEASURE_WITHIN_MS = 60_000

/**
 * What the files of a chain's directory take on the disk. Measured by another process with low priority: a tree of a
 * million files takes it seconds. Follows no links, enters no other file system, counts a file with several names once.
 *
 * @returns null if it could not be measured
 */
export async function chainBytes(path: string): Promise<number | null> {
  if (await isEmpty(path)) return 0
  const first = await diskUsage(path)
  if (!first.refused || process.getuid!() === 0) return first.bytes
  // Of the agent's own user, and hidden from it by their mode.
  await run('find', [path, '-xdev', '-type', 'd', '!', '-perm', '-700', '-exec', 'chmod', 'u+rwx', '{}', ';'])
  return (await diskUsage(path)).bytes
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
async function diskUsage(path: string): Promise<{ bytes: number | null; refused: boolean }> {
  const { stdout, stderr } = await run('du', ['-skx', path])
  const kibibytes = /^\d+/.exec(stdout)?.[0]
  return {
    bytes: kibibytes === undefined ? null : Number(kibibytes) * 1024,
    refused: stderr.includes('Permission denied'),
  }
}

function run(command: string, args: readonly string[]): Promise<{ stdout: string; stderr: string }> {
  const options = { env: { ...process.env, LC_ALL: 'C' }, timeout: MEASURE_WITHIN_MS, killSignal: 'SIGKILL' } as const
  return new Promise((resolve) => {
    execFile('nice', ['-n', '19', command, ...args], options, (_, stdout, stderr) => resolve({ stdout, stderr }))
  })
}
