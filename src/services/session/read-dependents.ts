import { DEPENDENTS_LISTED_MAX } from '../../domain/limits.ts'
import { readDependents as read, type DependentRow } from '../../store/sql/session/dependencies.sql.ts'
import type { ServiceContext } from '../service-context.ts'

export type { DependentRow }

/** The first attempts that depend on these chains, of those that the viewer sees, oldest first. */
export function readDependents(
  { db, viewer }: Pick<ServiceContext, 'db' | 'viewer'>,
  chainIds: readonly string[],
): Promise<DependentRow[]> {
  return read(db, chainIds, viewer.projectId, DEPENDENTS_LISTED_MAX)
}
