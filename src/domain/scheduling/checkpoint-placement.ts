import type { Avoided } from './agent-pool.ts'

/** The checkpoint of a waiting session's chain, and the agents that have its store. */
export interface StoredCheckpoint {
  /**
   * Whether the session waits for one of these agents. False also if the servers have a copy of the checkpoint, which
   * any agent can fetch.
   */
  isRequired: boolean
  /** The attempt that left it. */
  attempt: number
  /** All agents that have the checkpoint; those that accept work in the session's resource group come first. */
  agents: readonly { id: string; name: string; status: string; isOpen: boolean }[]
  waitedMs: number
  /** The wait after which the session starts without its checkpoint. */
  waitMaxMs: number
}

/** The places that the session's spec allows. */
interface Places {
  allowAgents: readonly string[]
  avoidAgents: readonly string[]
  excludeAgents: readonly string[]
}

/**
 * A placement. `prefer`: use one of these agents if it fits. `only`: use none but these. `wait`: do not place the
 * session yet, for this reason.
 */
export type CheckpointPlacement =
  | { kind: 'prefer'; agents: ReadonlySet<string> }
  | { kind: 'only'; agents: readonly string[] }
  | { kind: 'wait'; reason: string; leftMs: number }

/**
 * Decides where a session may run because of its checkpoint. If the session avoids all agents that have the checkpoint,
 * these places are known to be bad, so the checkpoint is only preferred. It can still be required if other agents share
 * its store.
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

/**
 * Ranks the agents for a session that prefers some: first these, then agents without the checkpoint, at the end the
 * agents to avoid.
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

/** A rank before that of the first agent to avoid, which is 1. */
const WITHOUT = 0.5
