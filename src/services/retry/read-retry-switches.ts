import { SCOPES_LISTED_MAX } from '../../domain/limits.ts'
import { listRetrySwitches } from '../../store/sql/retry/retry-switches.sql.ts'
import type { ServiceContext } from '../service-context.ts'
import { viewOf, type RetrySwitchView } from './set-retry-switch.ts'

/** All switches in effect that apply to the viewer, widest scope first. */
export async function readRetrySwitches({ db, viewer }: ServiceContext): Promise<RetrySwitchView[]> {
  const found = await listRetrySwitches(db, viewer.projectId, SCOPES_LISTED_MAX)
  return found.map(({ scope, name, state, now }) => viewOf(scope, name, state, now))
}
