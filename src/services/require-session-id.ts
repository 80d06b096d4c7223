import { validate } from 'uuid'
import { RepriseError } from '../domain/errors.ts'

/**
 * Otherwise the database would refuse a malformed UUID with an error of its own.
 * @throws RepriseError SESSION_NOT_FOUND
 */
export function requireSessionId(id: unknown): void {
  if (!validate(id)) throw new RepriseError('SESSION_NOT_FOUND', `no session ${String(id).slice(0, 100)}`)
}
