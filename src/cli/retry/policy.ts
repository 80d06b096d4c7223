import { Command } from 'commander'
import type { AirflowSettingsInput, FailureCause } from '../../client/node/index.ts'
import { act, type ClientContext, describedCommand } from '../client-command.ts'
import { addPolicyOptions, type PolicyOptions, readPolicy } from '../options/policy-options.ts'
import { addFilterOptions, type FilterOptions, readFilter } from '../options/filter-options.ts'
import { choice, oneOf, past, wholeNumber } from '../options/values.ts'
import { API_ENUMS } from '../options/api-enums.generated.ts'
import { type Column, formatTable } from '../output/table.ts'
import type { Terminal } from '../output/terminal.ts'
import { binaryBytes, counted, duration, relative, slotList } from '../output/format.ts'
import { findSession, findSessions, SESSION_ARGUMENT } from '../find.ts'
import { readFileSync } from 'node:fs'
import { UsageError } from '../present-error.ts'

const WIDTH_MAX = 48

const MARGIN = 36

interface PreviewOptions extends PolicyOptions {
  cause?: FailureCause
  exitCode?: number
  session?: string
  project?: string
  fromAirflow?: string
}

export function policyCommand(): Command {
  return new Command('policy').description('show what a retry policy does').addCommand(preview()).addCommand(trial())
}

function preview(): Command {
  const command = describedCommand('preview', 'show the delays of a policy, without creating anything', [
    'reprise policy preview --retries 6 --retry-delay 30s --backoff exponential',
    'reprise policy preview --policy policy.json --cause oom-killed',
    'reprise policy preview --project research --exit-code 75    # with the defaults of the project',
    `reprise policy preview --from-airflow '{"retries": 4, "retry_delay": 300, "retry_exponential_backoff": true}'`,
  ])
    .addOption(choice('--cause <cause>', 'for a failure with this cause', API_ENUMS.FailureCause))
    .option('--exit-code <code>', 'for a failure with this exit code', wholeNumber)
    .option('--session <session>', 'the further retries of this session')
    .option('-p, --project <project>', 'with the defaults of this project (default: as for a new session)')
    .option('--from-airflow <settings>', 'settings of an Airflow operator: JSON, a JSON file, or - for standard input')
  return act<PreviewOptions>(addPolicyOptions(command), async (context, options) => {
    if (options.fromAirflow !== undefined) return showAirflow(context, readAirflowSettings(options.fromAirflow))
    const { client, out } = context
    const sessionId = options.session === undefined ? undefined : await findSession(client, options.session)
    const { cause, exitCode, project } = options
    const policy = readPolicy(options) ?? {}
    const found = await client.previewRetryPolicy({ policy, cause, exitCode, sessionId, project })
    await out.showSoon(found, async () => {
      const outcome = `${found.eligible ? 'retried' : 'not retried'}: ${found.explanation}`
      const words = [outcome, ...defaultsWords(found.sources)].join('\n')
      return found.schedule.length === 0 ? words : `${words}\n\n${await schedule(found.schedule, out.terminal)}`
    })
  })
}

interface TrialOptions extends PolicyOptions, FilterOptions {
  file?: string
  limit?: number
}

type Trial = Awaited<ReturnType<ClientContext['client']['tryRetryPolicy']>>
type Tried = Trial['decisions'][number]

function trial(): Command {
  const command = describedCommand('try', 'show what a policy would have decided about sessions that failed', [
    'reprise policy try --file policy.json --label study=7 --since 7d',
    'reprise policy try --retries 3 --delays 20s,5m,2h --since 24h',
    'reprise policy try --file policy.json nightly --json',
  ])
    .argument('[sessions...]', `finished sessions: ${SESSION_ARGUMENT} (default: all that failed)`)
    .option('--file <file>', 'the same as --policy')
    .option('--since <time>', 'that ended since this time, or a duration ago like 2h (default: 7d)', past)
    .option('--before <time>', 'that ended before this time', past)
    .option('--limit <n>', 'number of sessions to list, at most 100 (default: 20)', wholeNumber)
  addFilterOptions(addPolicyOptions(command), CREATED)
  return act<TrialOptions>(command, async ({ client, out }, given, texts) => {
    const { file, since, before, limit: first, ...options } = given
    const policy = readPolicy({ ...options, policy: options.policy ?? file }) ?? {}
    const filter = readFilter(options)
    const sessionIds = texts.length === 0 ? undefined : await findSessions(client, texts)
    if (sessionIds && (filter ?? since ?? before) !== undefined)
      throw new UsageError('Give either sessions, or conditions that select them.')
    const window = sessionIds ? undefined : { from: since, to: before }
    const found = await client.tryRetryPolicy({ policy, sessionIds, filter, window, first })
    if (out.json) return out.show(found, () => '')
    out.print(trialWords(found))
    if (found.decisions.length === 0) return
    out.print('')
    await out.table(found.decisions, TRIED, '')
    const rest = found.tried - found.decisions.length
    if (rest > 0) out.print(`and ${rest} more`)
  })
}

/** `--since` and `--before` mean the end. */
const CREATED = { since: '--created-since <time>', before: '--created-before <time>' }

const TRIED: readonly Column<Tried>[] = [
  { title: 'NAME', value: ({ name }) => name, flexible: true },
  { title: 'ATTEMPT', value: ({ attempt }) => attempt, align: 'right' },
  { title: 'ENDED', value: ({ endedAt }) => relative(endedAt) },
  { title: 'DECISION', value: decisionWord, kept: true },
  {
    title: 'DELAY',
    value: ({ delaySeconds }) => (delaySeconds === null ? null : duration(delaySeconds)),
    align: 'right',
  },
  { title: 'REASON', value: ({ reason }) => reason, flexible: true, kept: true },
]

/** Returns lines such as `12 failed sessions: 9 retried by rules[0], 3 not retried`. */
function trialWords({ matched, tried, counts }: Trial): string {
  const words = counts.map((each) => {
    const rule = each.matchedRule === null ? '' : ` by rules[${each.matchedRule}]`
    return `${each.count} ${decisionWord(each)}${rule}`
  })
  const cut = matched > tried ? ` (the newest of ${matched})` : ''
  const sessions = `${counted(tried, 'session')}${cut}`
  return words.length === 0 ? 'no sessions failed' : `${sessions}: ${words.join(', ')}`
}

function decisionWord({ phase, counted: usesUp }: Pick<Tried, 'phase' | 'counted'>): string {
  if (phase === 'SCHEDULED') return usesUp ? 'retried' : 'retried uncounted'
  if (phase === 'EXHAUSTED') return 'exhausted'
  return phase === 'SUCCEEDED' ? 'succeeded' : 'not retried'
}

const SCOPES = ['PROJECT', 'DOMAIN', 'CLUSTER'] as const

/** Names the fields that come from defaults that somebody has set: `defaults of the project: maxRetries, backoff`. */
function defaultsWords(sources: readonly { field: string; source: string }[]): string[] {
  return SCOPES.flatMap((scope) => {
    const fields = sources.filter(({ source }) => source === scope).map(({ field }) => field)
    return fields.length === 0 ? [] : [`defaults of the ${scope.toLowerCase()}: ${fields.join(', ')}`]
  })
}

async function showAirflow({ client, out }: ClientContext, settings: AirflowSettingsInput): Promise<void> {
  const found = await client.previewAirflowPolicy(settings)
  const { sources, ...policy } = found.policy
  const decided: ReadonlySet<string> = new Set(
    sources.filter(({ source }) => source === 'SESSION').map(({ field }) => field),
  )
  await out.showSoon(found, async () => {
    const fields = Object.entries(policy).filter(([field]) => decided.has(field))
    return [
      out.terminal.style('dim', 'policy, for use with --policy'),
      JSON.stringify(Object.fromEntries(fields), null, 2),
      '',
      out.terminal.style('dim', 'delays here'),
      await schedule(found.schedule, out.terminal),
      '',
      out.terminal.style('dim', 'delays in Airflow'),
      await schedule(found.airflowDelays, out.terminal),
      '',
      ...found.explanation.alike.map((line) => `= ${line}`),
      ...found.explanation.differs.map((line) => `≠ ${line}`),
    ].join('\n')
  })
}

type Row = Planned & {
  bar: string
  resourceSlots?: readonly { slot: string; amount: string }[]
  batchTimeout?: number | null
  gpuMemoryBytes?: number | null
}

async function schedule(planned: readonly Planned[], terminal: Terminal): Promise<string> {
  if (planned.length === 0) return 'no retries'
  const bars = plotDelays(planned, terminal)
  const rows: Row[] = planned.map((one, index) => ({ ...one, bar: bars[index]! }))
  const grows = rows.some(({ resourceSlots }) => resourceSlots && resourceSlots.length > 0)
  const columns: Column<Row>[] = [
    { title: 'RETRY', value: ({ retry }) => retry, align: 'right' },
    { title: 'DELAY', value: ({ delaySeconds }) => duration(delaySeconds), align: 'right' },
    { title: 'SPREAD', value: spreadOf, align: 'right' },
    { title: 'IN ALL', value: ({ elapsedSeconds }) => duration(elapsedSeconds), align: 'right' },
    ...(rows.some(({ batchTimeout }) => batchTimeout) ? [TIMEOUT] : []),
    ...(rows.some(({ gpuMemoryBytes }) => gpuMemoryBytes) ? [GPU_MEMORY] : []),
    ...(grows ? [{ title: 'SLOTS', value: slotsOf } satisfies Column<Row>] : []),
  ]
  const lines = (await formatTable(rows, columns, { ...terminal, columns: undefined })).split('\n')
  return lines.map((line, index) => (index === 0 ? line : `${line}  ${bars[index - 1]}`)).join('\n')
}

const TIMEOUT: Column<Row> = {
  title: 'TIMEOUT',
  value: ({ batchTimeout }) => (batchTimeout ? duration(batchTimeout) : ''),
  align: 'right',
}

const GPU_MEMORY: Column<Row> = {
  title: 'GPU MEMORY',
  value: ({ gpuMemoryBytes }) => (gpuMemoryBytes ? binaryBytes(gpuMemoryBytes) : ''),
  align: 'right',
}

function spreadOf({ earliestSeconds, latestSeconds }: Row): string {
  return earliestSeconds === latestSeconds ? '' : `${duration(earliestSeconds)} … ${duration(latestSeconds)}`
}

function slotsOf({ resourceSlots = [] }: Row): string {
  return slotList(resourceSlots)
}

interface Planned {
  retry: number
  delaySeconds: number
  earliestSeconds: number
  latestSeconds: number
  elapsedSeconds: number
}

/**
 * Draws one bar per retry, all on one scale: the minimum wait, and in a lighter shade the time up to the latest start.
 */
function plotDelays(planned: readonly Planned[], terminal: Terminal): string[] {
  const longest = Math.max(...planned.map(({ latestSeconds }) => latestSeconds))
  const width = Math.max(10, Math.min(WIDTH_MAX, (terminal.columns ?? 80) - MARGIN))
  const length = (seconds: number) => (longest === 0 ? 0 : Math.round((seconds / longest) * width))
  return planned.map(({ earliestSeconds, latestSeconds }) => {
    const sure = Math.max(1, length(earliestSeconds))
    return terminal.style('cyan', '█'.repeat(sure) + '░'.repeat(Math.max(0, length(latestSeconds) - sure)))
  })
}

type Setting = keyof AirflowSettingsInput

/** Settings, by their names in Airflow and in the API. */
const NAMES: Readonly<Record<string, Setting>> = {
  retries: 'retries',
  retry_delay: 'retryDelay',
  retry_exponential_backoff: 'retryExponentialBackoff',
  max_retry_delay: 'maxRetryDelay',
  dag_id: 'dagId',
  task_id: 'taskId',
  logical_date: 'logicalDate',
  execution_date: 'logicalDate',
  release: 'release',
}

const DURATIONS: readonly Setting[] = ['retryDelay', 'maxRetryDelay']

/**
 * Parses settings of an Airflow operator, or its `default_args`, as JSON: the text itself, a file or `-`. Times are
 * seconds or `H:MM:SS`, as Python writes a timedelta. Settings that do not concern retries are ignored.
 * @throws UsageError
 */
export function readAirflowSettings(given: string): AirflowSettingsInput {
  const settings: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(readObject(given))) {
    const field = Object.values(NAMES).find((known) => known === name) ?? NAMES[name]
    if (field === undefined) continue
    if (DURATIONS.includes(field)) settings[field] = toSeconds(name, value)
    else settings[field] = field === 'release' ? oneOf(String(value), API_ENUMS.AirflowRelease) : value
  }
  if (Object.keys(settings).length === 0)
    throw new UsageError(`It has none of the settings ${Object.keys(NAMES).join(', ')}.`)
  return settings
}

function readObject(given: string): object {
  try {
    const text = given.trimStart().startsWith('{') ? given : readFileSync(given === '-' ? 0 : given, 'utf8')
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value
  } catch (error) {
    throw new UsageError(`--from-airflow: ${(error as Error).message}`)
  }
  throw new UsageError('--from-airflow: not a JSON object')
}

function toSeconds(name: string, value: unknown): number | null {
  if (value === null || typeof value === 'number') return value
  const match = /^(?:(\d+) days?, )?(\d+):(\d\d):(\d\d(?:\.\d+)?)$/.exec(typeof value === 'string' ? value : '')
  if (!match) throw new UsageError(`--from-airflow: ${name} is neither a number of seconds nor a time like 0:05:00`)
  const [days, hours, minutes, seconds] = match.slice(1).map((part) => Number(part ?? 0))
  return ((days! * 24 + hours!) * 60 + minutes!) * 60 + seconds!
}
