import { RepriseError } from '../domain/errors.ts'
import type { Viewer } from './service-context.ts'

/** AGENT tokens speak with the gateway and see nothing else. */
export function mayRead(viewer: Viewer): boolean {
  return viewer.role !== 'AGENT'
}

export function assertMayChange(viewer: Viewer): void {
  if (viewer.role === 'ADMIN' || viewer.role === 'MEMBER') return
  throw new RepriseError('FORBIDDEN', `The token "${viewer.name}" has the role ${viewer.role}, which changes nothing.`)
}
