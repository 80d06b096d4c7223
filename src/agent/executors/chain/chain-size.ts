import { opendir } from 'node:fs/promises'
import { runInBackground } from './background-command.ts'

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
