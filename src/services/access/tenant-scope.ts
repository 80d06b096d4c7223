import type { Viewer } from '../service-context.ts'

/** The part of a `where` that restricts a viewer to its project. Every read for a viewer passes through it. */
export function projectScope({ projectId }: Viewer): { projectId?: string } {
  return projectId === null ? {} : { projectId }
}

/** The same for the projects themselves. */
export function ownProject({ projectId }: Viewer): { id?: string } {
  return projectId === null ? {} : { id: projectId }
}
