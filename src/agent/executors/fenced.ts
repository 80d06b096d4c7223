import type { FailureError } from '../../domain/session/failure.ts'

/** Why a kernel was stopped that its agent stopped by its own fence. Stands in a shell script: no quotation marks. */
export const FENCED: FailureError = {
  name: 'agent-fenced',
  message: 'fenced: its agent stopped it because no server had answered for too long',
}
