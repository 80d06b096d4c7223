import { v7 as uuidv7 } from 'uuid'
import { RepriseError, type ValidationIssue } from '../domain/errors.ts'
import { NAME_LENGTH_MAX } from '../domain/limits.ts'
import { isStorableText, STORABLE_TEXT } from '../domain/storable-text.ts'
import { recordAudit } from '../store/sql/record-audit.sql.ts'
import { findScopeId } from '../store/sql/retry-scope.sql.ts'
import { insertToken, readNow } from '../store/sql/tokens.sql.ts'
import { assertMayAdminister } from './authorize.ts'
import type { Role, ServiceContext } from './service-context.ts'
import { hashToken, newToken, tokenPrefix } from './tokens.ts'

export interface CreateTokenInput {
  /** For people; two tokens may have the same. */
  name: string
  role: Role
  /** The one that it sees, by name. Not for AGENT; an ADMIN without one administers all. */
  project?: string | null
  /** Nothing is never. */
  expiresAt?: Date | null
}

export interface CreatedToken {
  tokenId: string
  /** The token itself, of which nobody keeps more than a hash. */
  secret: string
}

/**
 * For administrators; those of one project make tokens for that one.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, PROJECT_NOT_FOUND
 */
export async function createToken(context: ServiceContext, input: CreateTokenInput): Promise<CreatedToken> {
  const { db, viewer } = context
  const { name, role, project = null, expiresAt = null } = input
  assertMayAdminister(viewer, project === null ? 'CLUSTER' : 'PROJECT')
  refuse(issuesOf(input))
  if (expiresAt !== null && expiresAt <= (await readNow(db))) {
    refuse([{ path: 'expiresAt', message: 'Must lie in the future' }])
  }
  const projectId = project === null ? null : await findProject(context, project)
  const [id, secret] = [uuidv7(), newToken()]
  const prefix = tokenPrefix(secret)
  await db.transaction(async (tx) => {
    await insertToken(tx, { id, name, hash: hashToken(secret), prefix, role, projectId, expiresAt })
    const details = { tokenId: id, name, prefix, role, project, expiresAt }
    await recordAudit(tx, { actor: viewer.name, action: 'token.create', projectId, details })
  })
  return { tokenId: id, secret }
}

async function findProject({ db, viewer }: ServiceContext, name: string): Promise<string> {
  const known = name.length <= NAME_LENGTH_MAX && isStorableText(name)
  const id = known ? await findScopeId(db, 'PROJECT', name, viewer.projectId) : undefined
  if (id === undefined) throw new RepriseError('PROJECT_NOT_FOUND', `no project ${name.slice(0, NAME_LENGTH_MAX)}`)
  return id
}

function issuesOf({ name, role, project }: CreateTokenInput): ValidationIssue[] {
  const issues: ValidationIssue[] = []
  if (name.trim() === '') issues.push({ path: 'name', message: 'Must not be empty' })
  if (name.length > NAME_LENGTH_MAX)
    issues.push({ path: 'name', message: `Must have at most ${NAME_LENGTH_MAX} letters` })
  if (!isStorableText(name)) issues.push({ path: 'name', message: STORABLE_TEXT })
  if (role === 'AGENT' && project != null) {
    issues.push({ path: 'project', message: 'An agent runs the sessions of all projects' })
  }
  if ((role === 'MEMBER' || role === 'VIEWER') && project == null) {
    issues.push({ path: 'project', message: `Which project? A ${role} sees one` })
  }
  return issues
}

function refuse(issues: readonly ValidationIssue[]): void {
  if (issues.length === 0) return
  throw new RepriseError(
    'VALIDATION_FAILED',
    issues.map(({ path, message }) => `${path}: ${message}`).join('; '),
    issues,
  )
}
