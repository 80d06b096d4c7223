import { validate } from 'uuid'
import { RepriseError } from '../../domain/errors.ts'
import { abortResubmissionRow } from '../../store/sql/resubmission/abort-resubmission.sql.ts'
import { assertMayChange } from '../access/authorize.ts'
import type { ServiceContext } from '../service-context.ts'
import { actorOf } from '../access/actor.ts'

/**
 * Stops a resubmission: sessions already resubmitted keep their children, the others are left alone.
 * @throws RepriseError RESUBMISSION_NOT_FOUND, RESUBMISSION_FINISHED, FORBIDDEN
 */
export async function abortResubmission(
  { db, viewer, wake }: ServiceContext,
  { resubmissionId: id }: { resubmissionId: string },
): Promise<{ resubmissionId: string }> {
  assertMayChange(viewer)
  const whose = { id, visibleProjectId: viewer.projectId, actor: actorOf(viewer) }
  const state = validate(id) ? await abortResubmissionRow(db, whose) : undefined
  if (state === undefined) throw new RepriseError('RESUBMISSION_NOT_FOUND', `no resubmission ${id}`)
  if (state !== 'RUNNING') throw new RepriseError('RESUBMISSION_FINISHED', `resubmission ${id} is ${state}`)
  wake.wake('events', `resubmission:${id}`)
  return { resubmissionId: id }
}
