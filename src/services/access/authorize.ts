import type { Actor } from '../../store/sql/access/audit.sql.ts'
import type { Viewer } from '../service-context.ts'
import { RepriseError } from '../../domain/errors.ts'
import type { Queryable } from '../../store/database.ts'
import { readForeignWork } from '../../store/sql/access/tenants.sql.ts'
import { findOpenAgent } from '../../store/sql/agent/register-agent.sql.ts'

/** The viewer as an actor in the audit log, with the reason of the action. */
export function actorOf(viewer: Viewer, reason: string | null | undefined = viewer.reason): Actor {
  const { name, tokenId, userId, request } = viewer
  const actor = { name, tokenId, userId, requestId: request?.id ?? null, address: request?.address ?? null }
  return reason == null ? actor : { ...actor, reason }
}

/** The actor of work that a person requested earlier, in a request that is already in the log. */
export function actorNamed(name: string): Actor {
  return { name, tokenId: null, userId: null, requestId: null, address: null }
}

/**
 * Whether the token may read tenants' data. AGENT tokens may use only the gateway; METRICS tokens only `/metrics` and
 * service discovery.
 */
export function mayRead({ role }: Viewer): boolean {
  return role !== 'AGENT' && role !== 'METRICS'
}

export function mayDiscover(viewer: Viewer): boolean {
  return mayRead(viewer) || viewer.role === 'METRICS'
}

/** Whether the token may read metrics. The figures cover all projects, so a token of one project may not. */
export function mayReadMetrics({ role, projectId }: Pick<Viewer, 'role' | 'projectId'>): boolean {
  return projectId === null && (role === 'ADMIN' || role === 'METRICS')
}

/**
 * Whether the token may read environments. They often contain passwords, so only tokens that may write them may read
 * them.
 */
export function mayReadEnviron({ role }: Pick<Viewer, 'role'>): boolean {
  return role === 'ADMIN' || role === 'MEMBER'
}

/** The message for a token that has no access. */
export function noAccess({ name, role }: Viewer): string {
  const uses = role === 'AGENT' ? 'which is for agents' : 'which is for /metrics and service discovery'
  return `The token "${name}" has the role ${role}, ${uses}; it has no access here.`
}

export function mayChange({ role }: Pick<Viewer, 'role'>): boolean {
  return role === 'ADMIN' || role === 'MEMBER'
}

/** Whether the token may administer its project, or everything if it has no project. */
export function mayAdminister({ role }: Pick<Viewer, 'role'>): boolean {
  return role === 'ADMIN'
}

export function assertMayChange(viewer: Viewer): void {
  const refusal = refuseChange(viewer)
  if (refusal) throw refusal
}

/** Returns undefined if the viewer may change what it sees. */
export function refuseChange(viewer: Viewer): RepriseError | undefined {
  if (mayChange(viewer)) return undefined
  const message = `The token "${viewer.name}" has the role ${viewer.role}, which may not change anything.`
  return new RepriseError('FORBIDDEN', message)
}

/** Whether the token ends only the work of its user, unless its project allows more. */
export function endsOnlyOwnWork({ role }: Pick<Viewer, 'role'>): boolean {
  return role === 'MEMBER'
}

/**
 * Finds the sessions or deployments among these that the viewer may not end, because they are the work of others: a
 * MEMBER ends only the work of its user, or, without a user, work that has no user, unless its project allows more.
 */
export async function refuseForeignWork(
  { db, viewer }: { db: Queryable; viewer: Pick<Viewer, 'role' | 'projectId' | 'userId'> },
  what: 'session' | 'deployment' | 'group',
  ids: readonly string[],
): Promise<Map<string, RepriseError>> {
  const { projectId, userId } = viewer
  if (!endsOnlyOwnWork(viewer) || projectId === null || ids.length === 0) return new Map()
  const found = await readForeignWork(db, what === 'group' ? 'session_groups' : `${what}s`, { ids, projectId, userId })
  return new Map(
    found.map(({ id, owner, project }) => {
      const whose = owner === null ? 'has no user' : `is the work of ${owner}`
      const message = `${what} ${id} ${whose}, and members of ${project} end only their own work; an administrator can end it, or allow it with \`reprise projects update ${project} --members-end all\``
      return [id, new RepriseError('FORBIDDEN', message)]
    }),
  )
}

/** @throws RepriseError FORBIDDEN */
export async function assertMayEnd(
  context: { db: Queryable; viewer: Pick<Viewer, 'role' | 'projectId' | 'userId'> },
  what: 'session' | 'deployment' | 'group',
  id: string,
): Promise<void> {
  const refusal = (await refuseForeignWork(context, what, [id])).get(id)
  if (refusal) throw refusal
}

/**
 * Checks administration rights. An administrator of one project has none over other projects, its domain or the
 * cluster.
 */
export function assertMayAdminister(viewer: Viewer, scope: 'CLUSTER' | 'DOMAIN' | 'PROJECT'): void {
  if (!mayAdminister(viewer)) {
    throw new RepriseError('FORBIDDEN', `The token "${viewer.name}" has the role ${viewer.role}; this needs ADMIN.`)
  }
  if (viewer.projectId !== null && scope !== 'PROJECT') {
    throw new RepriseError('FORBIDDEN', `The token "${viewer.name}" is for one project; this concerns others too.`)
  }
}

/**
 * Refuses to admit anybody but administrators while there is an agent without isolation, because sessions of any
 * project can read everything there that the agent's user can read. An agent that somebody has configured without
 * isolation does not count.
 *
 * @throws RepriseError ISOLATION_REQUIRED
 */
export async function requireIsolation(db: Queryable, what: string): Promise<void> {
  const agent = await findOpenAgent(db)
  if (agent === null) return
  throw new RepriseError(
    'ISOLATION_REQUIRED',
    `${what} would let others run sessions on agent ${agent}, where sessions can read the server's data and each other's. ` +
      'Install bubblewrap there, or set REPRISE_ISOLATION (docs/executors.md); REPRISE_ISOLATION=none accepts it as it is.',
  )
}
