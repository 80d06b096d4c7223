import type { FailureError } from '../../domain/session/failure.ts'

/**
 * Reported for kernels that their agent stopped because its fence expired. Part of a shell script: no quotation marks.
 */
export const FENCED: FailureError = {
  name: 'agent-fenced',
  message: 'fenced: its agent stopped it because no server had answered for too long',
}
