import { RepriseError } from '../../domain/errors.ts'
import type { Viewer } from '../service-context.ts'

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
