import type { Viewer } from '../../services/service-context.ts'

/** A caller that has been authenticated. */
export interface Identity {
  viewer: Viewer
  token: string
}
