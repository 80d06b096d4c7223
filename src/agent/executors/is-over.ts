import type { ObservedKernel } from '../../domain/agent/protocol.ts'

/** Whether the kernel has ended or will never run. */
export function isOver({ status }: Pick<ObservedKernel, 'status'>): boolean {
  return status === 'EXITED' || status === 'FAILED'
}
