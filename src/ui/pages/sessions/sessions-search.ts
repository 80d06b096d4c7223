import { oneOf, readSearch, text, type Reader } from '../../app/list/search-reader.ts'
import type { SessionFilter, SessionType } from '../../../client/schema-types.generated.ts'

/** What the address says about the list of sessions. */
export interface SessionsSearch {
  type?: TypeWord
  status?: StatusWord
  /** A part of the name. */
  q?: string
  /** With a kernel that is or was on this agent. */
  agent?: string
  /** Of this resource group. */
  group?: string
  project?: string
  /** What of the address was not understood, and is left out. */
  dropped?: string[]
}

const TYPES = {
  batch: 'BATCH',
  interactive: 'INTERACTIVE',
  inference: 'INFERENCE',
} as const satisfies Record<string, SessionType>
export type TypeWord = keyof typeof TYPES

const STATUSES = {
  waiting: { status: ['PENDING'] },
  starting: { status: ['SCHEDULED', 'PREPARING', 'PULLING', 'PREPARED', 'CREATING'] },
  running: { status: ['RUNNING'] },
  ending: { status: ['TERMINATING'] },
  succeeded: { status: ['TERMINATED'], result: ['SUCCESS'] },
  failed: { status: ['ERROR'] },
  terminated: { status: ['TERMINATED', 'CANCELLED'], result: ['UNDEFINED'] },
} as const
export type StatusWord = keyof typeof STATUSES

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const uuid: Reader = (value) => (typeof value === 'string' && UUID.test(value) ? value : undefined)

const READERS: Readonly<Record<Exclude<keyof SessionsSearch, 'dropped'>, Reader>> = {
  type: oneOf(TYPES),
  status: oneOf(STATUSES),
  q: text,
  agent: uuid,
  group: text,
  project: text,
}

/** What is not understood is left out, and named. */
export function readSessionsSearch(given: Record<string, unknown>): SessionsSearch {
  return readSearch(READERS, given)
}

export function sessionFilterOf({ type, status, q, agent, group, project }: SessionsSearch): SessionFilter {
  const { status: statuses, result } = status === undefined ? {} : (STATUSES[status] as (typeof STATUSES)['succeeded'])
  return {
    ...(type && { sessionType: [TYPES[type]] }),
    ...(statuses && { status: [...statuses] }),
    ...(result && { result: [...result] }),
    ...(q && { name: { contains: q } }),
    ...(agent && { agent }),
    ...(group && { resourceGroup: group }),
    ...(project && { project }),
  }
}
