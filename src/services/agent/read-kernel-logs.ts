import { RepriseError } from '../../domain/errors.ts'
import {
  countKernelLogs as count,
  readKernelLogs as read,
  type LogChunkRow,
} from '../../store/sql/agent/kernel-logs.sql.ts'
import { readKernelState } from '../../store/sql/agent/read-kernel-state.sql.ts'
import type { ServiceContext } from '../service-context.ts'

export type { LogChunkRow }

/** Oldest first, one page for each kernel. The caller has checked that the viewer may see them. */
export function readKernelLogs(
  { db }: Pick<ServiceContext, 'db'>,
  input: { kernelIds: readonly string[]; after: string; limit: number },
): Promise<LogChunkRow[]> {
  return read(db, input.kernelIds, input.after, input.limit)
}

export function countKernelLogs(
  { db }: Pick<ServiceContext, 'db'>,
  kernelIds: readonly string[],
): Promise<Map<string, number>> {
  return count(db, kernelIds)
}

/** @throws RepriseError if the kernel does not exist or belongs to another tenant */
export async function assertKernelVisible({ db, viewer }: ServiceContext, kernelId: string): Promise<void> {
  const kernel = await readKernelState(db, kernelId)
  if (kernel && (viewer.projectId === null || viewer.projectId === kernel.projectId)) return
  throw new RepriseError('KERNEL_NOT_FOUND', `There is no kernel ${kernelId}.`)
}
