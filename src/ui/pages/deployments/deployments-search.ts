import { oneOf, readSearch, text, type Reader } from '../../app/list/search-reader.ts'
import type { DeploymentFilter, DeploymentStatus } from '../../../client/schema-types.generated.ts'

/** What the address says about the list of deployments. */
export interface DeploymentsSearch {
  status?: StatusWord
  /** A part of the name. */
  q?: string
  project?: string
  /** What of the address was not understood, and is left out. */
  dropped?: string[]
}

/** Two of them are no longer written, but may stand in an old database. */
const MOVING: DeploymentStatus[] = ['PENDING', 'CREATED', 'DEPLOYING', 'SCALING']
const STATUSES = {
  ready: ['READY'],
  moving: MOVING,
  ending: ['DESTROYING'],
  destroyed: ['DESTROYED'],
} satisfies Record<string, DeploymentStatus[]>
export type StatusWord = keyof typeof STATUSES

const READERS: Readonly<Record<Exclude<keyof DeploymentsSearch, 'dropped'>, Reader>> = {
  status: oneOf(STATUSES),
  q: text,
  project: text,
}

/** What is not understood is left out, and named. */
export function readDeploymentsSearch(given: Record<string, unknown>): DeploymentsSearch {
  return readSearch(READERS, given)
}

/** Without a status: those that are not gone. */
export function deploymentFilterOf({ status, q, project }: DeploymentsSearch): DeploymentFilter {
  return {
    status: status === undefined ? [...MOVING, 'READY', 'DESTROYING'] : STATUSES[status],
    ...(q !== undefined && { name: { contains: q } }),
    ...(project !== undefined && { project }),
  }
}
