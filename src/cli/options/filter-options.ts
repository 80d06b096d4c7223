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
  atAttempt?: IntRange
  inEpoch?: IntRange
  heldFor?: SessionFilter['holdReason']
  withName?: string
  withLabel?: [string, string][]
  label?: [string, string][]
  hasLabel?: string[]
  withoutLabel?: string[]
  inProject?: string
  ofUser?: string
  mine?: boolean
  filter?: SessionFilter
  since?: string
  before?: string
  startedSince?: string
  startedBefore?: string
  endedSince?: string
  endedBefore?: string
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
    .option('--at-attempt <range>', 'with a position in their chain in this range', range)
    .option('--in-epoch <range>', 'in an epoch (a number of resubmissions) in this range', range)
    .addOption(choices('--held-for <reasons>', 'with a retry held for one of these reasons', API_ENUMS.HoldReason))
    .option('--with-name <name>', 'with this name, which may end in *')
    .option('--with-label <key=value>', 'with this label; may be repeated', pairs)
    .option('-l, --label <key=value>', 'the same as --with-label', pairs)
    .option('--has-label <keys>', 'with these labels, whatever their values', words)
    .option('--without-label <keys>', 'without these labels', words)
    .option('--in-project <project>', 'in this project')
    .option('--of-user <user>', 'of this user')
    .option('--mine', 'of the user of the token in use')
    .option('--filter <json>', 'that match this `SessionFilter` of the GraphQL API, too', filterOf)
    .option(times.since, 'created since this time, or a duration ago like 2h', past)
    .option(times.before, 'created before this time', past)
    .option('--started-since <time>', 'started since this time', past)
    .option('--started-before <time>', 'started before this time', past)
    .option('--ended-since <time>', 'ended since this time', past)
    .option('--ended-before <time>', 'ended before this time', past)
}

/** Reads the filter from the options; undefined if none was given. */
export function readFilter(options: FilterOptions): SessionFilter | undefined {
  const { withName, withReason, since, before } = options
  const labels = [
    ...[...(options.withLabel ?? []), ...(options.label ?? [])].map(([key, equals]) => ({ key, equals })),
    ...(options.hasLabel ?? []).map((key) => ({ key, exists: true })),
    ...(options.withoutLabel ?? []).map((key) => ({ key, exists: false })),
  ]
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
    attempt: options.atAttempt,
    epoch: options.inEpoch,
    holdReason: options.heldFor,
    project: options.inProject,
    user: options.ofUser,
    name: withName?.endsWith('*') ? { startsWith: withName.slice(0, -1) } : withName && { equals: withName },
    labels: labels.length > 0 ? labels : undefined,
    createdAt: between(since, before),
    startedAt: between(options.startedSince, options.startedBefore),
    terminatedAt: between(options.endedSince, options.endedBefore),
  } as SessionFilter
  if (options.filter !== undefined) filter.AND = [options.filter]
  const given = Object.entries(filter).filter(([, value]) => value !== undefined)
  return given.length === 0 ? undefined : Object.fromEntries(given)
}

function between(since: string | undefined, before: string | undefined): object | undefined {
  if (since === undefined && before === undefined) return undefined
  return { ...(since !== undefined && { gte: since }), ...(before !== undefined && { lt: before }) }
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
