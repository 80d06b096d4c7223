import { createContext, useContext } from 'react'
import type { UiViewerQuery } from './viewer.generated.ts'

export type Viewer = NonNullable<UiViewerQuery['viewer']>

export const ViewerContext = createContext<Viewer | null>(null)

/** Whoever is logged in, and what they may do. */
export function useViewer(): Viewer {
  return useContext(ViewerContext)!
}
