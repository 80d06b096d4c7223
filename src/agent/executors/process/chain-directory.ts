import { rmdirSync } from 'node:fs'
import { join } from 'node:path'
import type { ProcessHost } from './process-host.ts'
import type { ProcessKernel } from './process-kernel.ts'

/** The directory that the kernels of a chain share on this machine. */
export function chainDirectory(host: ProcessHost, chainId: string): string {
  return join(host.chainsDir, chainId)
}

/**
 * Removes the chain's directory with its last kernel on this machine, if it is empty: most chains store nothing there,
 * and the empty directories would accumulate. Synchronous, to avoid a race: a kernel is in `host.kernels` before it
 * creates the directory.
 */
export function leaveChain(host: ProcessHost, { spec: { chainId } }: ProcessKernel): void {
  const needed = [...host.kernels.values()].some(({ spec, successor }) =>
    [spec, successor?.spec].some((each) => each?.chainId === chainId),
  )
  if (needed) return
  try {
    rmdirSync(chainDirectory(host, chainId))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST' && code !== 'ENOENT') throw error
  }
}
