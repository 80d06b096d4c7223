import { SCOPES_LISTED_MAX } from '../../domain/limits.ts'
import { parseRetryPolicy } from '../../domain/retry/policy/parse-policy.ts'
import { listRetryDefaults } from '../../store/sql/retry/retry-defaults.sql.ts'
import type { RetryDefaults } from './set-retry-defaults.ts'
import type { ServiceContext } from '../service-context.ts'

/** All defaults that apply to the viewer, widest scope first. Stored policies that no longer validate are ignored. */
export async function readRetryDefaults({ db, viewer }: ServiceContext): Promise<RetryDefaults[]> {
  const stored = await listRetryDefaults(db, viewer.projectId, SCOPES_LISTED_MAX)
  return stored.map(({ scope, name, policy: written }) => {
    const parsed = parseRetryPolicy(written)
    return { scope, name, policy: 'policy' in parsed ? parsed.policy : null }
  })
}
