import { InvalidArgumentError, type Command } from 'commander'
import type { IntRange, SessionFilter } from '../../client/node/index.ts'
import { choices, pairs, past, range, wholeNumbers } from './values.ts'
import { API_ENUMS } from './api-enums.generated.ts'

export interface FilterOptions {
  status?: SessionFilter['status']
  result?: SessionFilter['result']
  cause?: SessionFilter['failureCause']
  timedOut?: boolean
  ofType?: SessionFilter['sessionType']
  exitCode?: number[]
  withReason?: string
  phase?: SessionFilter['retryPhase']
  origin?: SessionFilter['origin']
  failureReason?: string[]
  chain?: string
  parent?: string
  onAgent?: string
  inGroup?: string
  withKey?: string
  retryCount?: IntRange
  maxRetries?: IntRange
  withName?: string
  withLabel?: [string, string][]
  label?: [string, string][]
  inProject?: string
  ofUser?: string
  mine?: boolean
  filter?: SessionFilter
  since?: string
  before?: string
}

/**
 * Adds the options that select sessions. `times`: the flags for the time of creation, for commands whose `--since` means
 * something else.
 */
export function addFilterOptions(
  command: Command,
  times = { since: '--since <time>', before: '--before <time>' },
): Command {
  return command
    .optionsGroup('Which sessions (all conditions must match; separate several values by commas):')
    .addOption(choices('--status <statuses>', 'with one of these statuses', API_ENUMS.SessionStatus))
    .addOption(choices('--result <results>', 'with one of these results', API_ENUMS.SessionResult))
    .addOption(choices('--cause <causes>', 'that failed for one of these causes', API_ENUMS.FailureCause))
    .option('--timed-out', 'that were ended by their batch timeout')
    .option('--exit-code <codes>', 'that ended with one of these', wholeNumbers)
    .addOption(
      choices(
        '--of-type <types>',
        'of one of these types; `inference`: replicas of deployments',
        API_ENUMS.SessionType,
      ),
    )
    .option('--with-reason <text>', 'with this text in the reason of their status')
    .addOption(choices('--phase <phases>', 'with a retry in one of these phases', API_ENUMS.RetryPhase))
    .addOption(choices('--origin <origins>', 'created in one of these ways', API_ENUMS.SessionOrigin))
    .option('--failure-reason <names>', 'that failed for one of these reasons, like task-timeout', words)
    .option('--chain <chain>', 'in this chain')
    .option('--parent <session>', 'the attempt that follows this session')
    .option('--on-agent <agent>', 'with a kernel that is or was on this agent')
    .option('--in-group <group>', 'in this resource group')
    .option('--with-key <key>', 'with this concurrency key')
    .option('--retry-count <range>', 'with a number of retries in this range, like 3, 1..3, 1.. or ..3', range)
    .option('--max-retries <range>', 'with a retry budget in this range', range)
    .option('--with-name <name>', 'with this name, which may end in *')
    .option('--with-label <key=value>', 'with this label; may be repeated', pairs)
    .option('-l, --label <key=value>', 'the same as --with-label', pairs)
    .option('--in-project <project>', 'in this project')
    .option('--of-user <user>', 'of this user')
    .option('--mine', 'of the user of the token in use')
    .option('--filter <json>', 'that match this `SessionFilter` of the GraphQL API, too', filterOf)
    .option(times.since, 'created since this time, or a duration ago like 2h', past)
    .option(times.before, 'created before this time', past)
}

/** Reads the filter from the options; undefined if none was given. */
export function readFilter(options: FilterOptions): SessionFilter | undefined {
  const { withName, withReason, since, before } = options
  const labels = [...(options.withLabel ?? []), ...(options.label ?? [])].map(([key, value]) => ({ key, value }))
  const createdAt = { ...(since !== undefined && { gte: since }), ...(before !== undefined && { lt: before }) }
  const filter: SessionFilter = {
    status: options.status,
    result: options.result,
    failureCause: options.cause,
    timedOut: options.timedOut,
    sessionType: options.ofType,
    exitCode: options.exitCode,
    statusReason: withReason === undefined ? undefined : { contains: withReason },
    retryPhase: options.phase,
    origin: options.origin,
    failureReason: options.failureReason,
    chainId: options.chain,
    parentSessionId: options.parent,
    agent: options.onAgent,
    resourceGroup: options.inGroup,
    concurrencyKey: options.withKey,
    retryCount: options.retryCount,
    maxRetries: options.maxRetries,
    project: options.inProject,
    user: options.ofUser,
    name: withName?.endsWith('*') ? { startsWith: withName.slice(0, -1) } : withName && { equals: withName },
    label: labels[0],
    createdAt: Object.keys(createdAt).length > 0 ? createdAt : undefined,
  } as SessionFilter
  const more = [
    ...labels.slice(1).map((label) => ({ label })),
    ...(options.filter === undefined ? [] : [options.filter]),
  ]
  if (more.length > 0) filter.AND = more
  const given = Object.entries(filter).filter(([, value]) => value !== undefined)
  return given.length === 0 ? undefined : Object.fromEntries(given)
}

function filterOf(text: string): SessionFilter {
  try {
    const filter: unknown = JSON.parse(text)
    if (typeof filter === 'object' && filter !== null && !Array.isArray(filter)) return filter
  } catch {
    // The error is reported below.
  }
  throw new InvalidArgumentError('It must be a JSON object, like \'{"origin": ["AUTO_RETRY"]}\'.')
}

function words(text: string): string[] {
  return text.split(',').map((word) => word.trim())
}
