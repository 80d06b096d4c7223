import { v7 as uuidv7 } from 'uuid'
import {
  FIRST_ATTEMPT,
  inheritedFrom,
  type ChildSource,
  type NewSession,
} from '../../store/sql/session/session-columns.sql.ts'

/** A child's own values, in addition to those that may differ from its parent's. */
type Own = Pick<
  NewSession,
  | 'parentSessionId'
  | 'creationId'
  | 'attempt'
  | 'epoch'
  | 'epochStartedAt'
  | 'origin'
  | 'retryCount'
  | 'uncountedRetries'
  | 'retryCause'
>

/** The next session of a chain: fields missing in `own` are its parent's, or those of a first attempt. */
export function childSession(parent: ChildSource, own: Own & Partial<NewSession>): NewSession {
  return {
    ...FIRST_ATTEMPT,
    ...inheritedFrom(parent),
    id: uuidv7(),
    sessionType: 'BATCH',
    kernelIds: Array.from({ length: parent.clusterSize }, () => uuidv7()),
    dependsOnChains: parent.dependsOnChains,
    requiredImageDigest: (own.retryPolicy ?? parent.retryPolicy).pinImage === false ? null : parent.imageDigest,
    ...own,
  }
}
