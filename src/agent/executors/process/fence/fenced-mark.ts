import { FENCED } from '../../executor.ts'
import type { StopMark } from '../../kernels/kernel-directory.ts'

/** The content of `stop` for kernels that a script stops. Has no single quotation marks. */
export const FENCED_MARK = JSON.stringify({ killAt: 0, error: FENCED } satisfies StopMark)
