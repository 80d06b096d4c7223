import { validate } from 'uuid'
import { RepriseError } from '../../domain/errors.ts'

/**
 * A malformed UUID names no session; the database would refuse it with an error of its own.
 * @throws RepriseError SESSION_NOT_FOUND
 */
export function requireSessionId(id: unknown): void {
  if (!validate(id)) throw new RepriseError('SESSION_NOT_FOUND', `no session ${String(id).slice(0, 100)}`)
}
