import { CHAIN_STATES, type ChainState } from '../../../domain/chain/chain-state.ts'
import { chainConditions, wordsOf, type Add, type ChainConditions } from './chain-conditions.sql.ts'

/** Conditions on chains, and whose they may be; null for those of all projects. */
export interface ChainSelection {
  conditions: ChainConditions
  visibleProjectId: string | null
}

/** Up to this many matches of a word search, or kernels of an agent, are looked up one by one. */
const LOOKED_UP_MAX = 5_000

const IN_RANGE = 'c.project_id = ranges.project_id AND c.state = ranges.state'

/** The states that chains of these conditions may have. */
export function possibleStates({ states, holdReasons, dueAt }: ChainConditions): ChainState[] {
  const wanted = new Set(states ?? CHAIN_STATES)
  if (dueAt) for (const state of CHAIN_STATES) if (state !== 'WAITING_RETRY' && state !== 'HELD') wanted.delete(state)
  if (holdReasons) for (const state of CHAIN_STATES) if (state !== 'HELD') wanted.delete(state)
  return [...wanted]
}

/** A range of chains for each project and state; `columns` are expressions on `state`, each behind a comma. */
export function rangeStatement({ conditions, visibleProjectId }: ChainSelection, add: Add, columns: string): string {
  const states = add(possibleStates(conditions), 'chain_state[]')
  const visible = add(visibleProjectId, 'uuid')
  const named = conditions.project === undefined ? '' : ` AND p.name = ${add(conditions.project, 'text')}`
  return `SELECT p.id AS project_id, state${columns} FROM projects p CROSS JOIN unnest(${states}) AS state
  WHERE (${visible} IS NULL OR p.id = ${visible})${named}`
}

/** Two ways to the same rows. */
export interface Ways {
  /** Definitions of a WITH, each followed by a comma. */
  definitions: string
  /** Puts the way that finds few chains first together with the way along the ranges; only one of them is executed. */
  either(walked: string, looked: string): string
  /** The condition on a chain `c` of a range `ranges`. */
  walked: string
  /** The same of a chain `c` that was found by itself. */
  looked: string
}

/**
 * Ids are looked up. Of words and of an agent, an index is asked first whether few chains match; if so, the ranges are
 * not walked. What is frequent is soon found by walking the ranges.
 */
export function waysTo({ conditions, visibleProjectId }: ChainSelection, add: Add, bounds = ''): Ways {
  const wanted = (some: ChainConditions) => `${IN_RANGE}${bounds}${chainConditions(some, add)}`
  const { chainIds, agentId, ...others } = conditions
  if (chainIds) {
    return {
      definitions: `found AS MATERIALIZED (SELECT DISTINCT unnest(${add(chainIds, 'uuid[]')}) AS chain_id),`,
      either: (_walked, looked) => looked,
      walked: '',
      looked: wanted({ ...others, ...(agentId !== undefined && { agentId }) }),
    }
  }
  const words = wordsOf(conditions, add)
  if (words !== null) {
    const found = `SELECT chain_id FROM chains_with_words(${words}, ${add(visibleProjectId, 'uuid')}, ${LOOKED_UP_MAX + 1}) AS chain_id`
    const definitions = `found AS MATERIALIZED (${found}),
rarity AS MATERIALIZED (SELECT ${words} IS NOT NULL AND count(*) <= ${LOOKED_UP_MAX} AS rare FROM found),`
    return { definitions, either: eitherWay, walked: wanted(conditions), looked: wanted(conditions) }
  }
  if (agentId !== undefined) {
    const definitions = `on_agent AS MATERIALIZED (
  SELECT session_id FROM kernels WHERE agent_id = ${add(agentId, 'uuid')} LIMIT ${LOOKED_UP_MAX + 1}
), found AS MATERIALIZED (SELECT DISTINCT s.chain_id FROM on_agent k JOIN sessions s ON s.id = k.session_id),
rarity AS MATERIALIZED (SELECT count(*) <= ${LOOKED_UP_MAX} AS rare FROM on_agent),`
    return { definitions, either: eitherWay, walked: wanted(conditions), looked: wanted(others) }
  }
  return { definitions: '', either: (walked) => walked, walked: wanted(conditions), looked: '' }
}

function eitherWay(walked: string, looked: string): string {
  return `SELECT * FROM (${walked}) AS walked WHERE NOT (SELECT rare FROM rarity)
  UNION ALL SELECT * FROM (${looked}) AS looked WHERE (SELECT rare FROM rarity)`
}
