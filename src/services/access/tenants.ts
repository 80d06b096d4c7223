import type { ServiceContext, Viewer } from '../service-context.ts'
import { newId } from '../../store/new-id.ts'
import { z } from 'zod'
import { RepriseError } from '../../domain/errors.ts'
import {
  addDomain,
  addProject,
  addUser,
  deleteUserRow,
  readIdByName,
  readOwnProjects,
  readProjectNames,
  setMember,
  updateProjectRow,
} from '../../store/sql/access/tenants.sql.ts'
import { actorOf, assertMayAdminister, requireIsolation } from './authorize.ts'
import { entityName, outputKeepDays } from '../input/input-fields.ts'
import { inputError, parseInput, refuseInput } from '../input/parse-input.ts'
import { NAME_LENGTH_MAX } from '../../domain/limits.ts'
import type { Queryable } from '../../store/database.ts'

/** The part of a `where` that restricts a viewer to its project. Every read for a viewer uses it. */
export function projectScope({ projectId }: Viewer): { projectId?: string } {
  return projectId === null ? {} : { projectId }
}

/** The same restriction for reads of projects. */
export function ownProject({ projectId }: Viewer): { id?: string } {
  return projectId === null ? {} : { id: projectId }
}

/** The same restriction for reads of domains: that of the project. */
export function visibleDomains({ projectId }: Viewer): { projects?: { some: { id: string } } } {
  return projectId === null ? {} : { projects: { some: { id: projectId } } }
}

/** The same restriction for reads of users: the members of the project. Deleted users are not visible to anybody. */
export function visibleUsers({ projectId }: Viewer): { deletedAt: null; members?: { some: { projectId: string } } } {
  return { deletedAt: null, ...(projectId !== null && { members: { some: { projectId } } }) }
}

/**
 * Adds the project to inputs that name none: the only one that the token sees or, if it sees all, the only one that its
 * user is a member of. Without such a project the input keeps its default. Several are an error of the input.
 */
export async function fillProjects<Input>(
  { db, viewer }: Pick<ServiceContext, 'db' | 'viewer'>,
  inputs: readonly Input[],
): Promise<(Input | RepriseError)[]> {
  if (!inputs.some(namesNoProject)) return [...inputs]
  const [project, ...others] = await readOwnProjects(db, viewer)
  if (project === undefined) return [...inputs]
  const message = `must be given: you are a member of ${[project, ...others].join(', ')}`
  const ambiguous = inputError([{ path: 'project', message }])
  return inputs.map((input) => {
    if (!namesNoProject(input)) return input
    return others.length > 0 ? ambiguous : { ...input, project }
  })
}

/** The same for one input. @throws RepriseError VALIDATION_FAILED */
export async function fillProject<Input>(context: Pick<ServiceContext, 'db' | 'viewer'>, input: Input): Promise<Input> {
  const [filled] = await fillProjects(context, [input])
  if (filled instanceof RepriseError) throw filled
  return filled!
}

/** Whether it is an object without a project; what is no object at all is refused later. */
function namesNoProject(input: unknown): boolean {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return false
  return !('project' in input) || input.project === null || input.project === undefined
}

const NAMED_PROJECTS = 5

/** Creates the error for a project that the viewer does not see; it names those that the viewer sees. */
export async function projectNotFound(
  { db, viewer }: { db: Queryable; viewer: Pick<Viewer, 'projectId'> },
  name: string,
): Promise<RepriseError> {
  const names = await readProjectNames(db, viewer.projectId, NAMED_PROJECTS + 1)
  const shown = [...names.slice(0, NAMED_PROJECTS), ...(names.length > NAMED_PROJECTS ? ['…'] : [])].join(', ')
  const message = `no project ${name.slice(0, NAME_LENGTH_MAX)}; ${names.length === 1 ? 'yours is' : 'there are'} ${shown}`
  return new RepriseError('PROJECT_NOT_FOUND', message)
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
 * Creates a user: a person whose sessions can be limited and who can own tokens. A deleted user of this name comes back
 * without memberships and tokens, and owns the old sessions.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, NAME_TAKEN
 */
export async function createUser(context: ServiceContext, input: CreateNamedInput): Promise<{ id: string }> {
  const { name } = parsed(context, named, input)
  const id = await addUser(context.db, { id: newId(), name, actor: actorOf(context.viewer) })
  if (id !== undefined) return { id }
  throw await nameTaken(context.db, 'user', name)
}

/**
 * Deletes a user: its memberships end and its tokens are revoked, on every server within a few seconds. Its sessions
 * stay and continue.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, USER_NOT_FOUND
 */
export async function deleteUser(context: ServiceContext, input: CreateNamedInput): Promise<{ id: string }> {
  const { db, viewer } = context
  const { name } = parsed(context, named, input)
  return db.transaction(async (tx) => {
    const id = await deleteUserRow(tx, name, actorOf(viewer))
    if (id === undefined) throw new RepriseError('USER_NOT_FOUND', `no user ${name}`)
    if (id === viewer.userId) refuseInput([{ path: 'name', message: 'You cannot delete yourself: use another token' }])
    return { id }
  })
}

const projectChange = named
  .extend({ membersEndAll: z.boolean().nullish(), outputKeepDays: outputKeepDays.nullish() })
  .refine(({ membersEndAll, outputKeepDays: days }) => membersEndAll != null || days !== undefined, {
    path: ['name'],
    message: 'give what to change: membersEndAll or outputKeepDays',
  })

/**
 * Changes whether the members of a project may end the work of others, and how long its outputs are kept; for the
 * administrators of the project. What is missing stays; null for `outputKeepDays` stands for the server's setting.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, PROJECT_NOT_FOUND
 */
export async function updateProject(
  { db, viewer }: ServiceContext,
  input: z.input<typeof projectChange>,
): Promise<{ id: string }> {
  assertMayAdminister(viewer, 'PROJECT')
  const change = parseInput(projectChange, input)
  const id = await updateProjectRow(db, change, { visibleProjectId: viewer.projectId, actor: actorOf(viewer) })
  if (id === undefined) throw await projectNotFound({ db, viewer }, change.name)
  return { id }
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
  kind: 'domain' | 'project',
  { name }: { name: string },
  add: typeof addDomain,
): Promise<{ id: string }> {
  const id = newId()
  if (await add(db, { id, name, actor: actorOf(viewer) })) return { id }
  throw await nameTaken(db, kind, name)
}

const TYPES = { domain: 'Domain', project: 'Project', user: 'User' } as const

async function nameTaken(db: Queryable, kind: keyof typeof TYPES, name: string): Promise<RepriseError> {
  const id = await readIdByName(db, kind, name)
  const existing = id === undefined ? null : { type: TYPES[kind], id }
  return new RepriseError('NAME_TAKEN', `there is a ${kind} ${name} already`, [], existing)
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
