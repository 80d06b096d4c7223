import { createContext, useContext } from 'react'
import type { UiViewerQuery } from './app.generated.ts'

export type Viewer = NonNullable<UiViewerQuery['viewer']>

export const ViewerContext = createContext<Viewer | null>(null)

/** The user who is logged in, and their permissions. */
export function useViewer(): Viewer {
  return useContext(ViewerContext)!
}

/** Why this token may not administer a scope; null if it may. */
export function noAdministration(
  { can, role, project }: Viewer,
  scope: 'CLUSTER' | 'DOMAIN' | 'PROJECT',
): string | null {
  if (!can.administer) return `Your token has the role ${role}: this needs ADMIN.`
  if (project !== null && scope !== 'PROJECT') return 'Your token is for one project: this concerns others, too.'
  return null
}

/** Why this token may not change anything; null if it may. */
export function noChange({ can, role }: Viewer): string | null {
  return can.createSessions ? null : `Your token has the role ${role}, which may not change anything.`
}
