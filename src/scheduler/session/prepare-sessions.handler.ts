import { LIFECYCLE_HANDLERS } from '../../domain/session/handlers.ts'
import { advanceKernels } from './advance-kernels.ts'

/** SCHEDULED → PREPARING: agents prepare image and working directory. */
export const prepareSessions = advanceKernels(LIFECYCLE_HANDLERS['prepare-sessions'], ['promote-to-prepared'])
