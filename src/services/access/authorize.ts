import type { Actor } from '../../store/sql/access/audit.sql.ts'
import type { Viewer } from '../service-context.ts'
import { RepriseError } from '../../domain/errors.ts'
import type { Queryable } from '../../store/database.ts'
import { findOpenAgent } from '../../store/sql/agent/register-agent.sql.ts'

/** The viewer, as the audit log names it. */
export function actorOf({ name, tokenId, userId, request }: Viewer): Actor {
  return { name, tokenId, userId, requestId: request?.id ?? null, address: request?.address ?? null }
}

/** For work that a person asked for earlier, in a request that the log has already. */
export function actorNamed(name: string): Actor {
  return { name, tokenId: null, userId: null, requestId: null, address: null }
}

/** AGENT tokens may use the gateway and nothing else; METRICS tokens `/metrics` and service discovery. */
export function mayRead({ role }: Viewer): boolean {
  return role !== 'AGENT' && role !== 'METRICS'
}

export function mayDiscover(viewer: Viewer): boolean {
  return mayRead(viewer) || viewer.role === 'METRICS'
}

/** Its figures are of all projects together: nothing of it is for a token of one. */
export function mayReadMetrics({ role, projectId }: Pick<Viewer, 'role' | 'projectId'>): boolean {
  return projectId === null && (role === 'ADMIN' || role === 'METRICS')
}

/** Environments hold passwords more often than not: only who may write them reads them. */
export function mayReadEnviron({ role }: Pick<Viewer, 'role'>): boolean {
  return role === 'ADMIN' || role === 'MEMBER'
}

/** The message for a token that may not read here. */
export function noAccess({ name, role }: Viewer): string {
  const uses = role === 'AGENT' ? 'which is for agents' : 'which is for /metrics and service discovery'
  return `The token "${name}" has the role ${role}, ${uses}; it has no access here.`
}

export function mayChange({ role }: Pick<Viewer, 'role'>): boolean {
  return role === 'ADMIN' || role === 'MEMBER'
}

/** Its project, if it is for one, or everything. */
export function mayAdminister({ role }: Pick<Viewer, 'role'>): boolean {
  return role === 'ADMIN'
}

export function assertMayChange(viewer: Viewer): void {
  const refusal = refuseChange(viewer)
  if (refusal) throw refusal
}

/** Undefined if the viewer may change what it sees. */
export function refuseChange(viewer: Viewer): RepriseError | undefined {
  if (mayChange(viewer)) return undefined
  const message = `The token "${viewer.name}" has the role ${viewer.role}, which may not change anything.`
  return new RepriseError('FORBIDDEN', message)
}

/** An administrator of one project has no rights over other projects, its domain or the cluster. */
export function assertMayAdminister(viewer: Viewer, scope: 'CLUSTER' | 'DOMAIN' | 'PROJECT'): void {
  if (!mayAdminister(viewer)) {
    throw new RepriseError('FORBIDDEN', `The token "${viewer.name}" has the role ${viewer.role}; this needs ADMIN.`)
  }
  if (viewer.projectId !== null && scope !== 'PROJECT') {
    throw new RepriseError('FORBIDDEN', `The token "${viewer.name}" is for one project; this concerns others too.`)
  }
}

/**
 * Before strangers are let in: nobody else's sessions may come to an agent on which they could read everything, unless
 * somebody has decided so there.
 *
 * @throws RepriseError ISOLATION_REQUIRED
 */
export async function requireIsolation(db: Queryable, what: string): Promise<void> {
  const agent = await findOpenAgent(db)
  if (agent === null) return
  throw new RepriseError(
    'ISOLATION_REQUIRED',
    `${what} would let others run sessions on agent ${agent}, where nothing keeps sessions from the server's and each other's data. ` +
      'Install bubblewrap there, or set REPRISE_ISOLATION (docs/executors.md); REPRISE_ISOLATION=none accepts it as it is.',
  )
}
