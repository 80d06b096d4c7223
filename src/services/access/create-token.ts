import { v7 as uuidv7 } from 'uuid'
import { RepriseError, type ValidationIssue } from '../../domain/errors.ts'
import { GROUPS_OF_TOKEN_MAX, NAME_LENGTH_MAX } from '../../domain/limits.ts'
import { isPlainText, PLAIN_TEXT } from '../../domain/plain-text.ts'
import { isStorableText, STORABLE_TEXT } from '../../domain/storable-text.ts'
import { readGroupScopes } from '../../store/sql/session/creation-scope.sql.ts'
import { readNow } from '../../store/sql/read-now.sql.ts'
import { recordAudit } from '../../store/sql/access/record-audit.sql.ts'
import { findScopeId } from '../../store/sql/retry/retry-scope.sql.ts'
import { findTokenUser, insertToken } from '../../store/sql/access/tokens.sql.ts'
import { assertMayAdminister } from './authorize.ts'
import { refuseInput } from '../input/parse-input.ts'
import type { Role, ServiceContext } from '../service-context.ts'
import { requireIsolation } from './require-isolation.ts'
import { hashToken, newToken, tokenPrefix } from './tokens.ts'
import { actorOf } from './actor.ts'
import { mayBeName } from '../input/text-input.ts'

export interface CreateTokenInput {
  /** A label for people; need not be unique. */
  name: string
  role: Role
  /** Name of the only project that it sees. Not for AGENT; ADMIN and METRICS without one see all of them. */
  project?: string | null
  /** Name of the user who owns the sessions it creates. Within a project it never has more rights than that user. */
  user?: string | null
  /** Names of the only resource groups that agents with it may join. Only for AGENT; missing: any. */
  resourceGroups?: string[] | null
  /** Missing: never. */
  expiresAt?: Date | null
}

export interface CreatedToken {
  tokenId: string
  /** The token itself; only its hash is stored. */
  secret: string
}

/**
 * For administrators; those of one project create tokens for that project only.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, PROJECT_NOT_FOUND, USER_NOT_FOUND, ISOLATION_REQUIRED
 */
export async function createToken(context: ServiceContext, input: CreateTokenInput): Promise<CreatedToken> {
  const { db, viewer } = context
  const { name, role, project = null, user = null, resourceGroups = null, expiresAt = null } = input
  assertMayAdminister(viewer, project === null ? 'CLUSTER' : 'PROJECT')
  const issues = issuesOf(input)
  if (expiresAt !== null && expiresAt <= (await readNow(db))) {
    issues.push({ path: 'expiresAt', message: 'Must lie in the future' })
  }
  issues.push(...(await groupIssues(context, input)))
  if (issues.length > 0) refuseInput(issues)
  if (role === 'MEMBER') await requireIsolation(db, 'a token of role MEMBER')
  const projectId = project === null ? null : await findProject(context, project)
  const userId = user === null ? null : await findUser(context, { name: user, role, projectId })
  const [id, secret] = [uuidv7(), newToken()]
  const prefix = tokenPrefix(secret)
  await db.transaction(async (tx) => {
    await insertToken(tx, {
      id,
      name,
      hash: hashToken(secret),
      prefix,
      role,
      projectId,
      userId,
      resourceGroups,
      expiresAt,
    })
    const details = { tokenId: id, name, prefix, role, project, user, resourceGroups, expiresAt }
    await recordAudit(tx, { actor: actorOf(viewer), action: 'token.create', projectId, details })
  })
  return { tokenId: id, secret }
}

async function groupIssues(
  { db }: ServiceContext,
  { role, resourceGroups }: CreateTokenInput,
): Promise<ValidationIssue[]> {
  if (resourceGroups == null) return []
  const issue = (message: string): ValidationIssue[] => [{ path: 'resourceGroups', message }]
  if (role !== 'AGENT') return issue('Only agents join resource groups')
  if (resourceGroups.length === 0 || resourceGroups.length > GROUPS_OF_TOKEN_MAX) {
    return issue(`Must be 1 to ${GROUPS_OF_TOKEN_MAX} names`)
  }
  const known = await readGroupScopes(db, resourceGroups.filter(mayBeName))
  const missing = resourceGroups.find((name) => !known.has(name))
  return missing === undefined ? [] : issue(`There is no resource group ${missing.slice(0, NAME_LENGTH_MAX)}`)
}

async function findProject({ db, viewer }: ServiceContext, name: string): Promise<string> {
  const id = mayBeName(name) ? await findScopeId(db, 'PROJECT', name, viewer.projectId) : undefined
  if (id === undefined) throw new RepriseError('PROJECT_NOT_FOUND', `no project ${name.slice(0, NAME_LENGTH_MAX)}`)
  return id
}

async function findUser(
  { db }: ServiceContext,
  { name, role, projectId }: { name: string; role: Role; projectId: string | null },
): Promise<string> {
  const user = mayBeName(name) ? await findTokenUser(db, name, projectId) : undefined
  if (!user || (projectId !== null && user.role === null)) {
    const where = projectId === null ? '' : ' in that project'
    throw new RepriseError('USER_NOT_FOUND', `no user ${name.slice(0, NAME_LENGTH_MAX)}${where}`)
  }
  if (user.role !== null && BY_POWER.indexOf(role) < BY_POWER.indexOf(user.role)) {
    refuseInput([{ path: 'role', message: `the user is only a ${user.role} of the project` }])
  }
  return user.id
}

/** In the same order as the database's enum. */
const BY_POWER: readonly Role[] = ['ADMIN', 'MEMBER', 'VIEWER', 'AGENT', 'METRICS']

function issuesOf({ name, role, project, user }: CreateTokenInput): ValidationIssue[] {
  const issues: ValidationIssue[] = []
  if (name.trim() === '') issues.push({ path: 'name', message: 'Must not be empty' })
  if (name.length > NAME_LENGTH_MAX)
    issues.push({ path: 'name', message: `Must have at most ${NAME_LENGTH_MAX} letters` })
  if (!isStorableText(name)) issues.push({ path: 'name', message: STORABLE_TEXT })
  else if (!isPlainText(name)) issues.push({ path: 'name', message: PLAIN_TEXT })
  if (role === 'AGENT' && project != null) {
    issues.push({ path: 'project', message: 'An agent runs the sessions of all projects' })
  }
  if (role === 'AGENT' && user != null) issues.push({ path: 'user', message: 'An agent is nobody’s' })
  if ((role === 'MEMBER' || role === 'VIEWER') && project == null) {
    issues.push({ path: 'project', message: `Which project? A ${role} sees one` })
  }
  return issues
}
