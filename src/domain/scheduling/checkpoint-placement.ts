import type { Avoided } from './agent-pool.ts'

/** The checkpoint of a waiting session's chain, and the agents that have its store. */
export interface StoredCheckpoint {
  /** The session goes nowhere else, as long as it waits. False also if the servers have a copy, which any agent can have. */
  isRequired: boolean
  /** The attempt that left it. */
  attempt: number
  /** All that have it, those that accept work in the session's resource group first. */
  agents: readonly { id: string; name: string; status: string; isOpen: boolean }[]
  waitedMs: number
  /** From when on the session does without. */
  waitMaxMs: number
}

/** Where the session may go: what its spec says. */
interface Places {
  allowAgents: readonly string[]
  avoidAgents: readonly string[]
  excludeAgents: readonly string[]
}

/**
 * `prefer`: these agents, if one of them fits. `only`: none but these. `wait`: nowhere yet, with the reason.
 */
export type CheckpointPlacement =
  | { kind: 'prefer'; agents: ReadonlySet<string> }
  | { kind: 'only'; agents: readonly string[] }
  | { kind: 'wait'; reason: string; leftMs: number }

/**
 * Who avoids the agents that have a checkpoint has been told that the place is bad: only where others share the store,
 * a checkpoint can be required all the same.
 */
export function placeByCheckpoint(stored: StoredCheckpoint, places: Places): CheckpointPlacement {
  const mayTake = stored.agents.filter(
    ({ id, isOpen }) =>
      isOpen &&
      !places.excludeAgents.includes(id) &&
      (places.allowAgents.length === 0 || places.allowAgents.includes(id)),
  )
  const ids = mayTake.map(({ id }) => id)
  const leftMs = stored.waitMaxMs - stored.waitedMs
  if (!stored.isRequired || leftMs <= 0 || isBadPlace(stored, places)) return { kind: 'prefer', agents: new Set(ids) }
  return ids.length > 0 ? { kind: 'only', agents: ids } : { kind: 'wait', reason: explainWait(stored), leftMs }
}

function isBadPlace({ agents }: StoredCheckpoint, { avoidAgents, excludeAgents }: Places): boolean {
  return agents.length > 0 && agents.every(({ id }) => avoidAgents.includes(id) || excludeAgents.includes(id))
}

function explainWait({ attempt, agents }: StoredCheckpoint): string {
  const its = `its checkpoint of attempt ${attempt}`
  const [first, ...others] = agents
  if (first === undefined) return `no agent has ${its}`
  const beside = others.length === 0 ? '' : `, the first of ${agents.length} that have it`
  const is = first.status === 'ALIVE' ? 'where it may not go' : `which is ${first.status}`
  return `${its} is on agent ${first.name}${beside}, ${is}`
}

/**
 * The order of agents for a session that prefers some: first these, then those without the checkpoint, and at the end
 * those to avoid.
 */
export function preferring(avoided: Avoided, prefer: ReadonlySet<string>, agents: readonly { id: string }[]): Avoided {
  if (prefer.size === 0) return avoided
  return new Map(
    agents.flatMap(({ id }): [string, number][] => {
      const place = avoided.get(id) ?? (prefer.has(id) ? 0 : WITHOUT)
      return place === 0 ? [] : [[id, place]]
    }),
  )
}

/** Before the first that is to be avoided, which is 1. */
const WITHOUT = 0.5
