import { oneOf, readSearch, text, type Reader } from '../../app/list/search-reader.ts'
import type { AgentStatus } from '../../../client/schema-types.generated.ts'

/** What the address says about the list of agents. */
export interface AgentsSearch {
  status?: StatusWord
  /** Of this resource group. */
  group?: string
  /** Chosen elsewhere; agents are of all projects. */
  project?: string
  /** What of the address was not understood, and is left out. */
  dropped?: string[]
}

const STATUSES = {
  alive: 'ALIVE',
  suspect: 'SUSPECT',
  lost: 'LOST',
  draining: 'DRAINING',
  removed: 'TERMINATED',
} as const satisfies Record<string, AgentStatus>
export type StatusWord = keyof typeof STATUSES

const PRESENT: AgentStatus[] = ['ALIVE', 'SUSPECT', 'LOST', 'DRAINING']

const READERS: Readonly<Record<Exclude<keyof AgentsSearch, 'dropped'>, Reader>> = {
  status: oneOf(STATUSES),
  group: text,
  project: text,
}

/** What is not understood is left out, and named. */
export function readAgentsSearch(given: Record<string, unknown>): AgentsSearch {
  return readSearch(READERS, given)
}

/** Without a status: those that are there. */
export function agentFilterOf({ status, group }: AgentsSearch) {
  return {
    status: status === undefined ? PRESENT : [STATUSES[status]],
    ...(group !== undefined && { resourceGroup: group }),
  }
}
