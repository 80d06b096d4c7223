import { validate } from 'uuid'
import { RepriseError } from '../domain/errors.ts'

/**
 * The database would refuse what is no UUID in its own words.
 * @throws RepriseError SESSION_NOT_FOUND
 */
export function requireSessionId(id: unknown): void {
  if (!validate(id)) throw new RepriseError('SESSION_NOT_FOUND', `no session ${String(id).slice(0, 100)}`)
}
