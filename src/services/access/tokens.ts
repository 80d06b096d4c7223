import {
  findTokenUser,
  hasAdminToken,
  insertToken,
  lockAdminTokens,
  readValidRoles,
  revokeAdminTokens,
  revokeTokenRow,
} from '../../store/sql/access/tokens.sql.ts'
import type { Role, ServiceContext } from '../service-context.ts'
import { hash, randomBytes } from 'node:crypto'
import { validate } from 'uuid'
import { newId } from '../../store/new-id.ts'
import { RepriseError, type ValidationIssue } from '../../domain/errors.ts'
import { GROUPS_OF_TOKEN_MAX, NAME_LENGTH_MAX } from '../../domain/limits.ts'
import { isPlainText, isStorableText, PLAIN_TEXT, STORABLE_TEXT } from '../../domain/storable-text.ts'
import { readGroupScopes } from '../../store/sql/session/creation-scope.sql.ts'
import { readNow } from '../../store/sql/server.sql.ts'
import { recordAudit } from '../../store/sql/access/audit.sql.ts'
import { findScopeId } from '../../store/sql/retry/retry-defaults.sql.ts'
import { actorOf, assertMayAdminister, requireIsolation } from './authorize.ts'
import { fillProject, projectScope } from './tenants.ts'
import type { Prisma, PrismaClient } from '../../store/prisma.ts'
import { keysetPage, NEWEST_FIRST, type Page, type PageArguments } from '../paging.ts'
import { refuseInput } from '../input/parse-input.ts'
import { mayBeName } from '../input/input-fields.ts'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Database } from '../../store/database.ts'
import { writeOnce } from './secrets.ts'

/**
 * Reads the present roles of these tokens; tokens that are not valid are missing. The caller has checked that the
 * viewer may see them.
 */
export function readTokenRoles(
  { db }: Pick<ServiceContext, 'db'>,
  tokenIds: readonly string[],
): Promise<Map<string, Role>> {
  return readValidRoles(db, tokenIds)
}

/**
 * The prefix of bearer tokens, by which secret scanners can find them. 256 random bits follow; only their hash is
 * stored.
 */
const PREFIX = 'rpr_'
const TOKEN = /^rpr_[A-Za-z0-9_-]{43}$/

export function newToken(): string {
  return PREFIX + randomBytes(32).toString('base64url')
}

/** Whether the text has the form of a token; other texts need no database lookup. */
export function isToken(text: string): boolean {
  return TOKEN.test(text)
}

const BROWSER_KEY = /^[A-Za-z0-9_-]{43}$/
const BROWSER_CREDENTIAL = /^rpr_[A-Za-z0-9_-]{43}~[A-Za-z0-9_-]{43}$/

/** Whether the text has the form of a browser's key: 256 random bits that the browser makes at login. */
export function isBrowserKey(text: string): boolean {
  return BROWSER_KEY.test(text)
}

/**
 * The credential of a browser: the secret of its cookie, which it sends to every port of the host, and the key of its
 * pages, which it sends to their own origin only. Only the hash of both together is stored, so neither works without
 * the other.
 */
export function browserCredential(secret: string, key: string): string {
  return `${secret}~${key}`
}

export function isBrowserCredential(text: string): boolean {
  return BROWSER_CREDENTIAL.test(text)
}

/** A fast hash is enough, because 256 random bits cannot be guessed. */
export function hashToken(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}

/** The beginning of a token: enough to tell tokens apart in a list, too little to be useful to an attacker. */
export function tokenPrefix(token: string): string {
  return token.slice(0, PREFIX.length + 6)
}

interface CreateTokenInput {
  /** A label for people; it need not be unique. */
  name: string
  role: Role
  /**
   * The name of the only project that the token sees. Not allowed for AGENT; ADMIN and METRICS tokens without a project
   * see all projects.
   */
  project?: string | null
  /**
   * The name of the user who owns the sessions that the token creates. Within a project the token never has more rights
   * than that user.
   */
  user?: string | null
  /**
   * The names of the only resource groups that agents with this token may join; only for AGENT. Missing means any
   * group.
   */
  resourceGroups?: string[] | null
  /** Missing means that the token never expires. */
  expiresAt?: Date | null
}

interface CreatedToken {
  tokenId: string
  /** The token itself; only its hash is stored. */
  secret: string
}

/**
 * Creates a token. Only for administrators; those of one project create tokens for that project only, and need not name
 * it for a MEMBER or a VIEWER.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, PROJECT_NOT_FOUND, USER_NOT_FOUND, ISOLATION_REQUIRED
 */
export async function createToken(context: ServiceContext, input: CreateTokenInput): Promise<CreatedToken> {
  const { db, viewer } = context
  const ofProject = viewer.projectId !== null && needsProject(input.role)
  const given = ofProject ? await fillProject(context, input) : input
  const { name, role, project = null, user = null, resourceGroups = null, expiresAt = null } = given
  assertMayAdminister(viewer, project === null ? 'CLUSTER' : 'PROJECT')
  const issues = issuesOf(given)
  if (expiresAt !== null && expiresAt <= (await readNow(db))) {
    issues.push({ path: 'expiresAt', message: 'Must lie in the future' })
  }
  issues.push(...(await groupIssues(context, given)))
  if (issues.length > 0) refuseInput(issues)
  if (role === 'MEMBER') await requireIsolation(db, 'a token of role MEMBER')
  const projectId = project === null ? null : await findProject(context, project)
  const userId = user === null ? null : await findUser(context, { name: user, role, projectId })
  const [id, secret] = [newId(), newToken()]
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

/** The roles in the same order as the database's enum. */
const BY_POWER: readonly Role[] = ['ADMIN', 'MEMBER', 'VIEWER', 'AGENT', 'METRICS']

/**
 * Revokes a token. It stops working on every server within a few seconds, because servers cache valid tokens for that
 * time. Revoking it again changes nothing. A token cannot revoke itself, so that an administrator remains.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, TOKEN_NOT_FOUND
 */
export async function revokeToken({ db, viewer }: ServiceContext, tokenId: string): Promise<void> {
  assertMayAdminister(viewer, 'PROJECT')
  if (tokenId === viewer.tokenId || tokenId === viewer.sessionOf) {
    const message = 'A token cannot revoke itself: use another one'
    refuseInput([{ path: 'tokenId', message }])
  }
  await db.transaction(async (tx) => {
    const token = validate(tokenId) ? await revokeTokenRow(tx, tokenId, viewer.projectId) : undefined
    if (!token) throw new RepriseError('TOKEN_NOT_FOUND', `no token ${tokenId.slice(0, 100)}`)
    const { name, projectId } = token
    await recordAudit(tx, { actor: actorOf(viewer), action: 'token.revoke', projectId, details: { tokenId, name } })
  })
}

export interface AdminToken {
  /** Null if the database already has an admin token, and this directory does not contain it. */
  token: string | null
  /** The file in which it is stored, readable by its owner only. */
  path: string
  /** Whether this call created it. */
  created: boolean
}

type AdminTokenPolicy =
  /** The database belongs to this directory: if the file was removed, a new token is wanted. */
  | 'one-per-directory'
  /** Other servers may use the database, so a token is created only if there is none. */
  | 'one-per-database'
  /** The existing tokens were lost: they are revoked, and this directory gets a new one. */
  | 'replace'

/**
 * The admin token of this data directory, created at the first start. The file is written before the database: after a
 * crash between the two, or if the directory is used with another database, the next start stores the token's hash
 * there. A lock in the database serialises servers that start at the same time, so that only one of them creates the
 * token.
 */
export async function ensureAdminToken(db: Database, dataDir: string, policy: AdminTokenPolicy): Promise<AdminToken> {
  const path = join(dataDir, 'admin-token')
  return db.transaction(async (tx) => {
    await lockAdminTokens(tx)
    if (policy === 'replace') {
      await revokeAdminTokens(tx)
      await rm(path, { force: true })
    }
    const existing = await read(path)
    if (existing === null && policy === 'one-per-database' && (await hasAdminToken(tx))) {
      return { token: null, path, created: false }
    }
    const created = existing === null && (await writeOnce(path, `${newToken()}\n`))
    const token = existing ?? (await read(path))!
    await insertToken(tx, {
      id: newId(),
      name: 'admin',
      hash: hashToken(token),
      prefix: tokenPrefix(token),
      role: 'ADMIN',
      projectId: null,
    })
    return { token, path, created }
  })
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

/** Whether tokens of this role have a project. For other roles, a missing project means all. */
function needsProject(role: Role): boolean {
  return role === 'MEMBER' || role === 'VIEWER'
}

function issuesOf({ name, role, project, user }: CreateTokenInput): ValidationIssue[] {
  const issues: ValidationIssue[] = []
  if (name.trim() === '') issues.push({ path: 'name', message: 'Must not be empty' })
  if (name.length > NAME_LENGTH_MAX)
    issues.push({ path: 'name', message: `Must have at most ${NAME_LENGTH_MAX} letters` })
  if (!isStorableText(name)) issues.push({ path: 'name', message: STORABLE_TEXT })
  else if (!isPlainText(name)) issues.push({ path: 'name', message: PLAIN_TEXT })
  if (role === 'AGENT' && project != null) {
    issues.push({
      path: 'project',
      message: 'An agent’s token has no project, because agents run the sessions of all projects',
    })
  }
  if (role === 'AGENT' && user != null) issues.push({ path: 'user', message: 'An agent’s token has no user' })
  if (needsProject(role) && project == null) {
    issues.push({ path: 'project', message: `A project is required: a ${role} sees exactly one` })
  }
  return issues
}

async function read(path: string): Promise<string | null> {
  try {
    const token = (await readFile(path, 'utf8')).trim()
    if (isToken(token)) return token
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  throw new Error(`${path} holds no token. Remove it, and the next start makes a new one.`)
}

const SHOWN = {
  id: true,
  name: true,
  prefix: true,
  role: true,
  resourceGroups: true,
  createdAt: true,
  expiresAt: true,
  revokedAt: true,
  lastUsedAt: true,
  project: { select: { name: true } },
  user: { select: { name: true } },
} as const satisfies Prisma.ApiTokenSelect

/** A token as it is shown; only its hash is stored. */
export type TokenRecord = Prisma.ApiTokenGetPayload<{ select: typeof SHOWN }>

type TokenReader = Pick<ServiceContext, 'viewer'> & { prisma: PrismaClient }

/**
 * Reads tokens, newest first, including revoked and expired ones, but not those of browser logins.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED
 */
export function readTokens(
  { prisma, viewer }: TokenReader,
  { role, project, user, page }: { role?: Role[]; project?: string; user?: string; page: PageArguments },
): Promise<Page<TokenRecord>> {
  assertMayAdminister(viewer, 'PROJECT')
  const conditions: Prisma.ApiTokenWhereInput = {
    ...(role && { role: { in: role } }),
    ...(project !== undefined && { project: { name: project } }),
    ...(user !== undefined && { user: { name: user } }),
  }
  const visible = { AND: [projectScope(viewer), { parentId: null }, conditions] }
  return keysetPage({
    args: page,
    order: NEWEST_FIRST,
    find: ({ where, ...rest }) =>
      prisma.apiToken.findMany({ ...rest, where: { AND: [visible, where] }, select: SHOWN }),
    count: () => prisma.apiToken.count({ where: visible }),
  })
}

/** @throws RepriseError FORBIDDEN, TOKEN_NOT_FOUND */
export async function readToken({ prisma, viewer }: TokenReader, id: string): Promise<TokenRecord> {
  assertMayAdminister(viewer, 'PROJECT')
  const token = await prisma.apiToken.findFirst({ where: { id, ...projectScope(viewer) }, select: SHOWN })
  if (token === null) throw new RepriseError('TOKEN_NOT_FOUND', `no token ${id}`)
  return token
}
