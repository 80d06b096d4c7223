import { RepriseError } from '../../../../domain/errors.ts'
import type { KernelEntry } from '../../kernels/kernel-entry.ts'

type LivingKernel = Pick<KernelEntry, 'assignment' | 'phase' | 'removing' | 'killAt'> & { ending: object | null }

/** @throws RepriseError SESSION_NOT_RUNNING */
export function runningKernel<K extends LivingKernel>(
  { registry }: { registry: { kernels: ReadonlyMap<string, K> } },
  kernelId: string,
  assignment: number,
): K {
  const kernel = registry.kernels.get(kernelId)
  if (kernel !== undefined && kernel.assignment === assignment && isRunning(kernel)) return kernel
  throw new RepriseError('SESSION_NOT_RUNNING', 'the kernel does not run on its agent')
}

/** Nothing new is to begin in one that is being stopped. */
export function isRunning({ phase, ending, removing, killAt }: LivingKernel): boolean {
  return phase === 'RUNNING' && ending === null && !removing && killAt === null
}
