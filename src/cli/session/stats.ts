import { type Command, InvalidArgumentError } from 'commander'
import {
  type FailureCause,
  type FailureGroup,
  type FailureGrouping,
  type FailureCountsQuery,
  isOver,
  type SessionFilter,
  type SessionStatisticsQuery,
  type SessionType,
} from '../../client/node/index.ts'
import { act, type ClientContext, describedCommand, showFirst } from '../client-command.ts'
import { API_ENUMS } from '../options/api-enums.generated.ts'
import { choices, pair, past, seconds, wholeNumber } from '../options/values.ts'
import { type Column, formatFields } from '../output/table.ts'
import type { Output } from '../output/output.ts'
import { binaryBytes, duration, instant, relative } from '../output/format.ts'
import { UsageError } from '../present-error.ts'
import { failureRulesCommand } from '../retry/settings.ts'
import { formatUsage } from './session-text.ts'

export interface CountedOptions {
  since?: string
  before?: string
  inProject?: string
  inGroup?: string
  ofType?: SessionType[]
  ofUser?: string
  withName?: string
  withLabel?: [string, string]
  label?: [string, string]
}

interface StatsOptions extends CountedOptions {
  bucket?: number
}

type Statistics = SessionStatisticsQuery['sessionStatistics']
type Bucket = Statistics['buckets'][number]
type Figures = Bucket['figures']

export function statsCommand(): Command {
  const command = describedCommand('stats', 'show how many sessions ended and how, and how many retries succeeded', [
    'reprise stats --since 7d',
    'reprise stats --since 6h --bucket 1h --in-group default',
    'reprise stats --with-label study=7 --json',
  ]).option('--bucket <duration>', 'one line for each span of this length', seconds)
  return act<StatsOptions>(addCountedOptions(command), async ({ client, out, signal }, options) => {
    const { bucket } = options
    const statistics = await client.sessionStatistics({ ...countedBy(options), bucketSeconds: bucket }, { signal })
    if (out.json) return out.show(statistics, () => '')
    if (bucket !== undefined) return out.table(statistics.buckets, BUCKETS, 'nothing')
    out.print(totalsOf(statistics, out))
    if (statistics.byCause.length === 0) return
    out.print('')
    await out.table(statistics.byCause, CAUSES, '')
  })
}

/** Adds the options that select the sessions to count. */
export function addCountedOptions(command: Command, span = 'a day'): Command {
  return command
    .option('--since <time>', `that ended since this time, or a duration ago like 2h (default: ${span})`, past)
    .option('--before <time>', 'that ended before', past)
    .option('--in-project <project>', 'in this project')
    .option('--in-group <group>', 'in this resource group')
    .addOption(
      choices(
        '--of-type <types>',
        'of one of these types (default: batch, interactive); `inference`: replicas of deployments',
        API_ENUMS.SessionType,
      ),
    )
    .option('--of-user <user>', 'of this user')
    .option('--with-name <name>', 'with this name')
    .option('--with-label <key=value>', 'with this label', onlyOne)
    .option('-l, --label <key=value>', 'the same as --with-label', onlyOne)
}

/** @throws InvalidArgumentError if it is given twice: the server counts sessions with one label */
function onlyOne(text: string, earlier?: [string, string]): [string, string] {
  if (earlier) throw new InvalidArgumentError('Only one label can be given.')
  return pair(text)
}

export function countedBy(options: CountedOptions) {
  const { since, before, inProject, inGroup, ofUser, withName, withLabel, label } = options
  if (withLabel && label) throw new UsageError('Only one label can be given.')
  const given = withLabel ?? label
  return {
    from: since,
    to: before,
    project: inProject,
    resourceGroup: inGroup,
    sessionType: options.ofType ?? (['BATCH', 'INTERACTIVE'] satisfies SessionType[]),
    user: ofUser,
    name: withName,
    label: given && { key: given[0], value: given[1] },
  }
}

/** The same as a filter of sessions, without their types unless these are given. */
export function filterBy(options: CountedOptions): { filter: SessionFilter; window: { from?: string; to?: string } } {
  const { from, to, project, resourceGroup, user, name, label } = countedBy(options)
  const filter = {
    project,
    resourceGroup,
    sessionType: options.ofType,
    user,
    name: name === undefined ? undefined : { equals: name },
    label,
  }
  return { filter, window: { from, to } }
}

const BUCKETS: readonly Column<Bucket>[] = [
  { title: 'FROM', value: ({ from }) => instant(from) },
  ...(['ended', 'succeeded', 'failed', 'cancelled', 'retries'] as const).map((name): Column<Bucket> => ({
    title: name.toUpperCase(),
    value: ({ figures }) => figures[name],
    align: 'right',
  })),
]

const CAUSES: readonly Column<Statistics['byCause'][number]>[] = [
  { title: 'CAUSE', value: ({ cause }) => cause },
  { title: 'FAILED', value: ({ failed }) => failed, align: 'right' },
  { title: 'TIMED OUT', value: ({ timedOut }) => timedOut || null, align: 'right', optional: true },
  { title: 'RETRIED', value: ({ retries }) => retries, align: 'right' },
  { title: 'RETRIES SUCCEEDED', value: ({ retriesSucceeded }) => retriesSucceeded, align: 'right' },
]

function totalsOf({ from, to, total, byStatus, usage }: Statistics, { terminal }: Output): string {
  const { ended, succeeded, failed, cancelled } = total
  const open = byStatus.filter((each) => !isOver(each))
  return formatFields(
    [
      ['from', instant(from)],
      ['to', instant(to)],
      ['ended', `${ended}: ${succeeded} succeeded, ${failed} failed, ${cancelled} cancelled`],
      ...usage.map((each): [string, string | null] => [`${RESULTS[each.result]} used`, spentWords(each)]),
      ['retries', retriesOf(total)],
      ['now', open.map(({ status, count }) => `${count} ${status.toLowerCase()}`).join(', ')],
      ['waiting retries', total.waiting === null ? null : `${total.waiting}, ${total.held ?? 0} of them held`],
    ],
    terminal,
  )
}

const RESULTS = { SUCCESS: 'succeeded', FAILURE: 'failed', UNDEFINED: 'cancelled' }

function spentWords({ cpuSeconds, wallSeconds, peakMemoryBytes }: Statistics['usage'][number]): string {
  const used = formatUsage({ cpuSeconds, peakMemoryBytes: null })
  const words = [
    used,
    wallSeconds === null ? null : `ran ${duration(wallSeconds)}`,
    peakMemoryBytes === null ? null : `at most ${binaryBytes(peakMemoryBytes)} each`,
  ]
  return words.filter((each) => each !== null).join(', ')
}

function retriesOf({ retries, retriesSucceeded, retrySuccessRate: rate }: Figures): string {
  return `${retries}, ${retriesSucceeded} of which succeeded${rate === null ? '' : ` (${Math.round(rate * 100)} %)`}`
}

interface FailuresOptions extends CountedOptions {
  by?: FailureGrouping[]
  cause?: FailureCause[]
  timedOut?: boolean
  limit?: number
  messages?: true
}

const GROUPS_SHOWN = 20
/** Longest span of statistics: one bucket covers it. */
const SPAN_MAX_SECONDS = 31 * 86_400

export function failuresCommand(): Command {
  const command = describedCommand(
    'failures',
    'count failed attempts, including those that were retried, by what they have in common',
    [
      'reprise failures --since 7d',
      'reprise failures --messages    # grouped by what their logs say',
      'reprise failures --by exit-code,agent --cause kernel-nonzero-exit',
      'reprise failures --label study=7 --json',
    ],
  )
    .addOption(
      choices(
        '--by <properties>',
        'properties to count by (default: cause, exit code and label)',
        API_ENUMS.FailureGrouping,
      ),
    )
    .option('--messages', 'group them by what their logs say (default span: 30 days)')
    .addOption(choices('--cause <causes>', 'that failed for one of these causes', API_ENUMS.FailureCause))
    .option('--timed-out', 'that were ended by their batch timeout')
    .option('--limit <n>', `number of largest groups of each kind, at most 100 (default: ${GROUPS_SHOWN})`, wholeNumber)
    .addCommand(failureRulesCommand())
  return act<FailuresOptions>(addCountedOptions(command), showFailures)
}

async function showFailures(context: ClientContext, options: FailuresOptions): Promise<void> {
  if (options.messages) return showMessages(context, options)
  const { client, out, signal } = context
  const { by = ['CAUSE', 'EXIT_CODE', 'LABEL'], cause, timedOut, limit = GROUPS_SHOWN } = options
  const counted = countedBy(options)
  const statistics = await client.sessionStatistics({ ...counted, bucketSeconds: SPAN_MAX_SECONDS }, { signal })
  const { from, to, byCause, total } = statistics
  // All counts are of the same span.
  const query = { ...counted, from, to, cause, timedOut, first: limit }
  const kinds = [...new Set(by)]
  const groups = await Promise.all(kinds.map((each) => client.failureCounts({ ...query, by: each }, { signal })))
  const wanted = byCause.filter((each) => cause?.includes(each.cause) !== false)
  const failed = wanted.reduce((sum, each) => sum + (timedOut ? each.timedOut : each.failed), 0)
  if (out.json) {
    const named = kinds.map((kind, at): [string, unknown] => {
      const rows = groups[at]!.map((group) => ({ ...group, ...retriedOf(statistics, group) }))
      return [GROUPINGS[kind].field, kind === 'CAUSE' ? rows : groups[at]!]
    })
    return out.show({ from, to, ended: total.ended, failed, groups: Object.fromEntries<unknown>(named) }, () => '')
  }
  const share = total.ended === 0 ? '' : `, ${Math.round((failed / total.ended) * 100)} %`
  const how = timedOut ? 'timed out' : 'failed'
  out.print(`${failed} of ${total.ended} attempts that ended since ${instant(from)} ${how}${share}`)
  for (const [at, kind] of kinds.entries()) {
    const rows = groups[at]!
    if (rows.length === 0) continue
    out.print('')
    await out.table(rows, columnsOf(kind, statistics), '')
    if (rows.length === limit) out.note(`the ${limit} largest; --limit shows more`)
  }
}

async function showMessages({ client, out, signal }: ClientContext, options: FailuresOptions): Promise<void> {
  const { cause, timedOut, limit = GROUPS_SHOWN } = options
  if (options.by) throw new UsageError('--messages and --by cannot be used together.')
  const { filter, window } = filterBy(options)
  const wanted = { ...filter, failureCause: cause, timedOut, sessionType: countedBy(options).sessionType }
  const groups = client.failureGroups({ filter: wanted, window }, { signal })
  await showFirst(out, { limit, of: groups }, MESSAGES, 'no failures')
}

const MESSAGES: readonly Column<FailureGroup>[] = [
  { title: 'FAILED', value: ({ attempts }) => attempts, align: 'right', kept: true },
  { title: 'CHAINS', value: ({ chains }) => chains, align: 'right' },
  {
    title: 'SAVED',
    value: ({ succeededLater: share }) => (share === null ? null : `${Math.round(share * 100)} %`),
    align: 'right',
  },
  { title: 'LAST', value: ({ lastSeenAt }) => (lastSeenAt === null ? null : relative(lastSeenAt)), align: 'right' },
  {
    title: '',
    value: messageMark,
  },
  { title: 'SAYS', value: ({ title }) => title, flexible: true, kept: true },
]

function messageMark({ state, isNew, regressedAt, breaker }: FailureGroup): string {
  if (breaker !== null) return 'held'
  if (state !== 'OPEN') return state.toLowerCase()
  return regressedAt !== null ? 'regressed' : isNew ? 'new' : ''
}

type FailureCount = FailureCountsQuery['failureCounts'][number]

/** Titles of the properties, and their names in JSON. */
const GROUPINGS: Record<FailureGrouping, { title: string; field: string }> = {
  CAUSE: { title: 'CAUSE', field: 'cause' },
  EXIT_CODE: { title: 'EXIT CODE', field: 'exitCode' },
  NAME: { title: 'NAME', field: 'name' },
  LABEL: { title: 'LABEL', field: 'label' },
  AGENT: { title: 'AGENT', field: 'agent' },
}

function columnsOf(kind: FailureGrouping, statistics: Statistics): readonly Column<FailureCount>[] {
  const retried: Column<FailureCount> = {
    title: 'RETRIES SUCCEEDED',
    value: (group) => {
      const { retries, retriesSucceeded } = retriedOf(statistics, group)
      const isMixed = statistics.byCause.some(({ cause, timedOut }) => cause === group.cause && timedOut > 0)
      return retries === 0 ? '–' : `${retriesSucceeded} of ${retries}${isMixed ? ' with timeouts' : ''}`
    },
    align: 'right',
  }
  return [
    { title: GROUPINGS[kind].title, value: commonOf, flexible: true, kept: true },
    { title: 'FAILED', value: ({ failed }) => failed, align: 'right', kept: true },
    { title: 'CHAINS', value: ({ chains }) => chains, align: 'right' },
    { title: 'FOR GOOD', value: ({ lost }) => lost, align: 'right' },
    ...(kind === 'CAUSE' ? [retried] : []),
    { title: 'LAST', value: ({ latestAt }) => relative(latestAt), align: 'right' },
  ]
}

function commonOf({
  cause,
  timedOut,
  exitCode,
  name,
  label,
  agentName,
  agentId,
}: FailureCount): string | number | null {
  if (timedOut) return 'timed out'
  return cause ?? exitCode ?? name ?? (label ? `${label.key}=${label.value}` : null) ?? agentName ?? agentId
}

/** The retries of timeouts are counted with those of the other failures of their cause. */
function retriedOf({ byCause }: Statistics, { cause, timedOut }: FailureCount) {
  if (timedOut) return { retries: 0, retriesSucceeded: 0 }
  const { retries, retriesSucceeded } = byCause.find((each) => each.cause === cause) ?? {
    retries: 0,
    retriesSucceeded: 0,
  }
  return { retries, retriesSucceeded }
}
