import type { CodeAnswer, CodeRequest } from '../../domain/agent/protocol.ts'
import { RepriseError } from '../../domain/errors.ts'
import { readKernelCode } from '../../store/sql/code/code-archives.sql.ts'
import type { CodeStore } from '../code/code-store.ts'
import type { ServiceContext } from '../service-context.ts'

/**
 * The uploaded code of a kernel that the agent has now.
 * @throws RepriseError KERNEL_NOT_FOUND, CODE_NOT_FOUND
 */
export async function openKernelCode(
  { db, code }: Pick<ServiceContext, 'db'> & { code: CodeStore },
  request: CodeRequest,
): Promise<CodeAnswer> {
  const { kernelId } = request
  const found = await readKernelCode(db, request)
  if (found === undefined) {
    throw new RepriseError('KERNEL_NOT_FOUND', `kernel ${kernelId} is not assigned to this agent`)
  }
  const { projectId, sha256 } = found
  if (sha256 === null) throw new RepriseError('CODE_NOT_FOUND', `kernel ${kernelId} has no uploaded code`)
  const opened = await code.open({ projectId, sha256 })
  if (opened !== null) return opened
  const advice = 'all servers must share one REPRISE_CHECKPOINT_DIR'
  throw new RepriseError(
    'CODE_NOT_FOUND',
    `the uploaded code ${sha256} is gone from this server's directory; ${advice}`,
  )
}
