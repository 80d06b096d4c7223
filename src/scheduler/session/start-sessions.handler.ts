import { LIFECYCLE_HANDLERS } from '../../domain/session/handlers.ts'
import { advanceKernels } from './advance-kernels.ts'

/** PREPARED → CREATING: agents start the kernels that they have prepared. */
export const startSessions = advanceKernels(LIFECYCLE_HANDLERS['start-sessions'], ['promote-to-running'])
