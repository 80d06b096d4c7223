import { RepriseError } from '../../../../domain/errors.ts'
import type { ProcessHost } from '../process-host.ts'
import type { ProcessKernel } from '../process-kernel.ts'

/** @throws RepriseError SESSION_NOT_RUNNING */
export function runningKernel({ book }: ProcessHost, kernelId: string, assignment: number): ProcessKernel {
  const kernel = book.kernels.get(kernelId)
  if (kernel !== undefined && kernel.assignment === assignment && isRunning(kernel)) return kernel
  throw new RepriseError('SESSION_NOT_RUNNING', 'the kernel does not run on its agent')
}

/** Nothing new is to begin in one that is being stopped. */
export function isRunning({ phase, ending, removing, killAt }: ProcessKernel): boolean {
  return phase === 'RUNNING' && ending === null && !removing && killAt === null
}
