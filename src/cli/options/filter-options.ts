import type { Command } from 'commander'
import type { SessionFilter } from '../../client/node/index.ts'
import { choices, pair, past } from './values.ts'
import { CAUSES, ORIGINS, PHASES, RESULTS, STATUSES } from './api-enums.ts'

export interface FilterOptions {
  status?: SessionFilter['status']
  result?: SessionFilter['result']
  cause?: SessionFilter['failureCause']
  phase?: SessionFilter['retryPhase']
  origin?: SessionFilter['origin']
  chain?: string
  withName?: string
  withLabel?: [string, string]
  inProject?: string
  since?: string
  before?: string
}

export function addFilterOptions(command: Command): Command {
  return command
    .optionsGroup('Which sessions (all that is given must hold; several words with a comma between):')
    .addOption(choices('--status <statuses>', 'in one of these statuses', STATUSES))
    .addOption(choices('--result <results>', 'that ended so', RESULTS))
    .addOption(choices('--cause <causes>', 'that failed for one of these causes', CAUSES))
    .addOption(choices('--phase <phases>', 'whose retry stands so', PHASES))
    .addOption(choices('--origin <origins>', 'that came about so', ORIGINS))
    .option('--chain <id>', 'of this chain')
    .option('--with-name <name>', 'of this name; a * at the end stands for any rest')
    .option('--with-label <key=value>', 'with this label', pair)
    .option('--in-project <name>', 'of this project')
    .option('--since <time>', 'created since; a time, or a duration like 2h', past)
    .option('--before <time>', 'created before', past)
}

/** Undefined where nothing is asked for. */
export function readFilter(options: FilterOptions): SessionFilter | undefined {
  const { withName, withLabel, since, before } = options
  const createdAt = { ...(since !== undefined && { gte: since }), ...(before !== undefined && { lt: before }) }
  const filter: SessionFilter = {
    status: options.status,
    result: options.result,
    failureCause: options.cause,
    retryPhase: options.phase,
    origin: options.origin,
    chainId: options.chain,
    project: options.inProject,
    name: withName?.endsWith('*') ? { startsWith: withName.slice(0, -1) } : withName && { equals: withName },
    label: withLabel && { key: withLabel[0], value: withLabel[1] },
    createdAt: Object.keys(createdAt).length > 0 ? createdAt : undefined,
  } as SessionFilter
  const given = Object.entries(filter).filter(([, value]) => value !== undefined)
  return given.length === 0 ? undefined : Object.fromEntries(given)
}
