import { RepriseError } from '../domain/errors.ts'
import type { Viewer } from './service-context.ts'

/** AGENT tokens may use the gateway and nothing else. */
export function mayRead(viewer: Viewer): boolean {
  return viewer.role !== 'AGENT'
}

export function assertMayChange(viewer: Viewer): void {
  if (viewer.role === 'ADMIN' || viewer.role === 'MEMBER') return
  throw new RepriseError(
    'FORBIDDEN',
    `The token "${viewer.name}" has the role ${viewer.role}, which may not change anything.`,
  )
}

/** An administrator of one project has no rights over other projects, its domain or the cluster. */
export function assertMayAdminister(viewer: Viewer, scope: 'CLUSTER' | 'DOMAIN' | 'PROJECT'): void {
  if (viewer.role !== 'ADMIN') {
    throw new RepriseError('FORBIDDEN', `The token "${viewer.name}" has the role ${viewer.role}; this needs ADMIN.`)
  }
  if (viewer.projectId !== null && scope !== 'PROJECT') {
    throw new RepriseError('FORBIDDEN', `The token "${viewer.name}" is for one project; this concerns others too.`)
  }
}
