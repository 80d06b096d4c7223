import { z } from 'zod'
import { RepriseError } from '../../domain/errors.ts'
import { setMember } from '../../store/sql/access/tenants.sql.ts'
import { assertMayAdminister } from './authorize.ts'
import { entityName } from '../input/entity-name.ts'
import { parseInput } from '../input/parse-input.ts'
import type { ServiceContext } from '../service-context.ts'
import { actorOf } from './actor.ts'

const whom = z.strictObject({ project: entityName, user: entityName })
const schema = whom.extend({ role: z.enum(['ADMIN', 'MEMBER', 'VIEWER']) })

export type SetProjectMemberInput = z.input<typeof whom> & { role: string }
export type RemoveProjectMemberInput = z.input<typeof whom>

/** @throws RepriseError FORBIDDEN, VALIDATION_FAILED, PROJECT_NOT_FOUND, USER_NOT_FOUND */
export async function setProjectMember(context: ServiceContext, input: SetProjectMemberInput): Promise<{ id: string }> {
  assertMayAdminister(context.viewer, 'CLUSTER')
  return write(context, parseInput(schema, input))
}

/**
 * Does nothing if the user is not a member. @throws RepriseError FORBIDDEN, VALIDATION_FAILED, PROJECT_NOT_FOUND,
 * USER_NOT_FOUND
 */
export async function removeProjectMember(
  context: ServiceContext,
  input: RemoveProjectMemberInput,
): Promise<{ id: string; userId: string }> {
  assertMayAdminister(context.viewer, 'CLUSTER')
  return write(context, { ...parseInput(whom, input), role: null })
}

async function write(
  { db, viewer }: ServiceContext,
  change: { project: string; user: string; role: string | null },
): Promise<{ id: string; userId: string }> {
  const { projectId, userId } = await setMember(db, { ...change, actor: actorOf(viewer) })
  if (projectId === null) throw new RepriseError('PROJECT_NOT_FOUND', `no project ${change.project}`)
  if (userId === null) throw new RepriseError('USER_NOT_FOUND', `no user ${change.user}`)
  return { id: projectId, userId }
}
