import { LIFECYCLE_HANDLERS } from '../../domain/session/handlers.ts'
import { advanceKernels } from './advance-kernels.ts'

/** SCHEDULED → PREPARING: agents make image and scratch ready. */
export const prepareSessions = advanceKernels(LIFECYCLE_HANDLERS['prepare-sessions'], ['promote-to-prepared'])
