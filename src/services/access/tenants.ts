import type { ServiceContext, Viewer } from '../service-context.ts'
import { v7 as uuidv7 } from 'uuid'
import { z } from 'zod'
import { RepriseError } from '../../domain/errors.ts'
import { addDomain, addProject, addUser, setMember } from '../../store/sql/access/tenants.sql.ts'
import { actorOf, assertMayAdminister, requireIsolation } from './authorize.ts'
import { entityName } from '../input/input-fields.ts'
import { parseInput } from '../input/parse-input.ts'

/** The part of a `where` that restricts a viewer to its project. Every read for a viewer uses it. */
export function projectScope({ projectId }: Viewer): { projectId?: string } {
  return projectId === null ? {} : { projectId }
}

/** The same restriction for reads of projects. */
export function ownProject({ projectId }: Viewer): { id?: string } {
  return projectId === null ? {} : { id: projectId }
}

const named = z.strictObject({ name: entityName })
const inDomain = named.extend({ domain: entityName.nullish() })

type CreateNamedInput = z.input<typeof named>
type CreateProjectInput = z.input<typeof inDomain>

/** @throws RepriseError FORBIDDEN, VALIDATION_FAILED, NAME_TAKEN */
export async function createDomain(context: ServiceContext, input: CreateNamedInput): Promise<{ id: string }> {
  return create(context, 'domain', parsed(context, named, input), addDomain)
}

/**
 * Creates a user: a person whose sessions can be limited and who can own tokens.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, NAME_TAKEN
 */
export async function createUser(context: ServiceContext, input: CreateNamedInput): Promise<{ id: string }> {
  return create(context, 'user', parsed(context, named, input), addUser)
}

/**
 * Creates a project, in the domain `default` unless another is named.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, NAME_TAKEN, DOMAIN_NOT_FOUND, ISOLATION_REQUIRED
 */
export async function createProject(context: ServiceContext, input: CreateProjectInput): Promise<{ id: string }> {
  const { name, domain } = parsed(context, inDomain, input)
  await requireIsolation(context.db, 'another project')
  return create(context, 'project', { name }, async (db, project) => {
    const { added, domainFound } = await addProject(db, { ...project, domain: domain ?? 'default' })
    if (!domainFound) throw new RepriseError('DOMAIN_NOT_FOUND', `no domain ${domain}`)
    return added
  })
}

const whom = z.strictObject({ project: entityName, user: entityName })
const schema = whom.extend({ role: z.enum(['ADMIN', 'MEMBER', 'VIEWER']) })

type SetProjectMemberInput = z.input<typeof whom> & { role: string }
type RemoveProjectMemberInput = z.input<typeof whom>

/** @throws RepriseError FORBIDDEN, VALIDATION_FAILED, PROJECT_NOT_FOUND, USER_NOT_FOUND */
export async function setProjectMember(context: ServiceContext, input: SetProjectMemberInput): Promise<{ id: string }> {
  assertMayAdminister(context.viewer, 'CLUSTER')
  return write(context, parseInput(schema, input))
}

/**
 * Removes a member; does nothing if the user is none.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, PROJECT_NOT_FOUND, USER_NOT_FOUND
 */
export async function removeProjectMember(
  context: ServiceContext,
  input: RemoveProjectMemberInput,
): Promise<{ id: string; userId: string }> {
  assertMayAdminister(context.viewer, 'CLUSTER')
  return write(context, { ...parseInput(whom, input), role: null })
}

function parsed<Schema extends z.ZodType>(context: ServiceContext, shape: Schema, input: unknown): z.output<Schema> {
  assertMayAdminister(context.viewer, 'CLUSTER')
  return parseInput(shape, input)
}

async function create(
  { db, viewer }: ServiceContext,
  kind: 'domain' | 'project' | 'user',
  { name }: { name: string },
  add: typeof addDomain,
): Promise<{ id: string }> {
  const id = uuidv7()
  if (await add(db, { id, name, actor: actorOf(viewer) })) return { id }
  throw new RepriseError('NAME_TAKEN', `there is a ${kind} ${name} already`)
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
