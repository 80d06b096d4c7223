import { RepriseError } from '../domain/errors.ts'
import type { Role, Viewer } from './service-context.ts'

/** Higher includes lower. AGENT is apart: it may do what agents do, and that alone. */
const RANK: Readonly<Record<Role, number>> = { ADMIN: 3, MEMBER: 2, VIEWER: 1, AGENT: 0 }

/** @throws RepriseError FORBIDDEN */
export function requireRole(viewer: Viewer, role: 'ADMIN' | 'MEMBER' | 'VIEWER'): void {
  if (RANK[viewer.role] < RANK[role]) {
    throw new RepriseError('FORBIDDEN', `needs the role ${role}; this token has ${viewer.role}`)
  }
}
