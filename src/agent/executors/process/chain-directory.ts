import { rmdirSync } from 'node:fs'
import { join } from 'node:path'
import type { ProcessHost } from './process-host.ts'
import type { ProcessKernel } from './process-kernel.ts'

/** What the kernels of a chain share on this machine. */
export function chainDirectory(host: ProcessHost, chainId: string): string {
  return join(host.chainsDir, chainId)
}

/**
 * Takes an empty one away with the last kernel of its chain that is here: most chains put nothing there, and each
 * would leave a directory for ever. At once, not in turns: a kernel that needs it makes it after it is listed here.
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
