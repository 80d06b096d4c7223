import { rmdirSync } from 'node:fs'
import { chown, lchown, lstat, mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { ProcessHost } from '../process-host.ts'
import type { ProcessKernel } from '../process-kernel.ts'

/** The directory that the kernels of a chain share on this machine. */
export function chainDirectory(host: ProcessHost, chainId: string): string {
  return join(host.chainsDir, chainId)
}

/** @param uid the user and group to whom it must belong; null for the agent's own */
export async function makeChainDirectory(path: string, uid: number | null): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 })
  if (uid !== null && (await lstat(path)).uid !== uid) await handOver(path, uid)
}

/**
 * With what attempts left there that ran as another user, under another isolation. A file with further names elsewhere
 * stays whose it is. Nothing runs that could exchange a file meanwhile: a chain has one attempt at a time.
 */
async function handOver(directory: string, uid: number): Promise<void> {
  await chown(directory, uid, uid)
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) await handOver(path, uid)
    else if ((await lstat(path)).nlink === 1) await lchown(path, uid, uid)
  }
}

/**
 * Removes the chain's directory with its last kernel on this machine, if it is empty: most chains store nothing there,
 * and the empty directories would accumulate. Synchronous, to avoid a race: a kernel is in `host.kernels` before it
 * creates the directory.
 */
export function leaveChain(host: ProcessHost, { spec: { chainId } }: ProcessKernel): void {
  if (isChainNeeded(host, chainId)) return
  try {
    rmdirSync(chainDirectory(host, chainId))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST' && code !== 'ENOENT') throw error
  }
}

export function isChainNeeded(host: ProcessHost, chainId: string): boolean {
  return [...host.kernels.values()].some(({ spec, successor }) =>
    [spec, successor?.spec].some((each) => each?.chainId === chainId),
  )
}
