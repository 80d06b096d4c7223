import { type Command, InvalidArgumentError } from 'commander'
import type { InsightGrouping, RetryInsight, UsageGrouping, UsageRow } from '../../client/node/index.ts'
import { act, type ClientContext, describedCommand } from '../client-command.ts'
import { API_ENUMS } from '../options/api-enums.generated.ts'
import { oneOf, wholeNumber, written } from '../options/values.ts'
import { binaryBytes, counted, duration } from '../output/format.ts'
import { type Column, csvText, formatTable } from '../output/table.ts'
import type { Terminal } from '../output/terminal.ts'
import { addCountedOptions, type CountedOptions, filterBy } from './stats.ts'

/** A property to group by, with the key if it is a label. */
interface Property<Grouping> {
  groupBy: Grouping
  labelKey?: string
}

interface FiguresOptions<Grouping> extends CountedOptions {
  by?: Property<Grouping>
  limit?: number
  csv?: true
}

const ROWS_SHOWN = 20
/** The most that the server returns. */
const GROUPS_MAX = 1_000

function addFiguresOptions<Grouping extends string>(command: Command, words: readonly Grouping[], usual: Grouping) {
  const named = words.filter((word) => word !== 'LABEL').map(written)
  return addCountedOptions(command, '30 days')
    .option(
      '--by <property>',
      `property to group by: ${named.join(', ')} or label:KEY (default: ${written(usual)})`,
      (text) => propertyOf(text, words),
    )
    .option(
      '--limit <n>',
      `number of groups, at most 1000 (default: ${ROWS_SHOWN}; with --json 100, with --csv 1000)`,
      wholeNumber,
    )
    .option('--csv', 'print the groups as CSV')
}

function propertyOf<Grouping extends string>(text: string, words: readonly Grouping[]): Property<Grouping> {
  const [word, ...rest] = text.split(':')
  const groupBy = oneOf(word!, words)
  const labelKey = rest.join(':')
  if ((groupBy === 'LABEL') !== (labelKey !== '')) throw new InvalidArgumentError('A label is given as label:KEY.')
  return groupBy === 'LABEL' ? { groupBy, labelKey } : { groupBy }
}

export function insightsCommand(): Command {
  const command = describedCommand('insights', 'show what failures cost, and what retries bring', [
    'reprise insights',
    'reprise insights --by exit-code --since 7d',
    'reprise insights --by label:team --csv',
  ])
  const added = addFiguresOptions(command, API_ENUMS.InsightGrouping, 'CAUSE')
  return act<FiguresOptions<InsightGrouping>>(added, async (context, options) => {
    const { client, out, signal } = context
    const rows = await client.retryInsights(queryOf(options, 'CAUSE'), { signal })
    if (options.csv) return out.print(csvText(rows, INSIGHT_CSV))
    if (out.json) return out.show(rows, () => '')
    await showRows(context, rows, options.limit, [titled(options.by?.groupBy ?? 'CAUSE'), ...INSIGHTS])
    const curve = sumOfCurves(rows)
    if (curve.length > 0) out.print(`\n${await curveText(curve, out.terminal)}`)
  })
}

export function usageCommand(): Command {
  const command = describedCommand('usage', 'show who used the cluster', [
    'reprise usage --since 7d',
    'reprise usage --by project',
    'reprise usage --by label:team --csv',
  ])
  const added = addFiguresOptions(command, API_ENUMS.UsageGrouping, 'USER')
  return act<FiguresOptions<UsageGrouping>>(added, async (context, options) => {
    const { client, out, signal } = context
    const rows = await client.usage(queryOf(options, 'USER'), { signal })
    if (options.csv) return out.print(csvText(rows, USAGE_CSV))
    if (out.json) return out.show(rows, () => '')
    const all = rows.reduce((sum, { slotSeconds }) => sum + slotSeconds.cpu, 0)
    const share: Column<UsageRow> = {
      title: 'SHARE',
      value: ({ slotSeconds: { cpu } }) => (all === 0 ? null : bar(cpu / all, SHARE_COLUMNS)),
      style: () => 'cyan',
    }
    return showRows(context, rows, options.limit, [titled(options.by?.groupBy ?? 'USER'), ...USAGE, share])
  })
}

function queryOf<Grouping>(options: FiguresOptions<Grouping>, usual: Grouping) {
  const { by = { groupBy: usual }, csv, limit = csv ? GROUPS_MAX : undefined } = options
  return { ...filterBy(options), ...by, first: limit }
}

async function showRows<Row>(
  { out }: ClientContext,
  rows: readonly Row[],
  limit: number | undefined,
  columns: readonly Column<Row>[],
): Promise<void> {
  const shown = rows.slice(0, limit ?? ROWS_SHOWN)
  await out.table(shown, columns, 'nothing')
  const left = rows.length - shown.length
  if (left > 0) out.note(`${counted(left, 'more group')}; --limit or --csv shows more`)
}

function titled(grouping: InsightGrouping | UsageGrouping): Column<{ title?: string | null }> {
  return { title: grouping.replaceAll('_', ' '), value: ({ title }) => title ?? '–', flexible: true, kept: true }
}

const percent = (share: number | null | undefined) => (share == null ? null : `${Math.round(share * 100)} %`)
/** CPU seconds as hours: what people compare. */
const hours = (seconds: number) => (seconds / 3_600).toFixed(seconds < 36_000 ? 1 : 0)

const INSIGHTS: readonly Column<RetryInsight>[] = [
  { title: 'FAILED', value: ({ failed }) => failed, align: 'right', kept: true },
  { title: 'RETRIES', value: ({ retries }) => retries, align: 'right' },
  { title: 'SAVED', value: ({ chainsSaved }) => chainsSaved, align: 'right', kept: true },
  { title: 'LOST', value: ({ chainsLost }) => chainsLost, align: 'right', kept: true },
  { title: 'CPU HOURS LOST', value: ({ slotSecondsLost }) => hours(slotSecondsLost.cpu), align: 'right' },
  {
    title: 'SUCCESS IN',
    value: ({ medianSecondsToSuccess: median }) => (median == null ? null : duration(median)),
    align: 'right',
  },
  { title: 'EFFECTIVE', value: ({ effectiveShare }) => percent(effectiveShare), align: 'right', optional: true },
]

const USAGE: readonly Column<UsageRow>[] = [
  { title: 'SESSIONS', value: ({ sessions }) => sessions, align: 'right' },
  { title: 'CPU HOURS', value: ({ slotSeconds }) => hours(slotSeconds.cpu), align: 'right', kept: true },
  { title: 'USED', value: (row) => hours(row.cpuSecondsUsed), align: 'right' },
  {
    title: 'GPU HOURS',
    value: ({ slotSeconds }) => (slotSeconds.gpu === 0 ? null : hours(slotSeconds.gpu)),
    align: 'right',
    optional: true,
  },
  { title: 'MEMORY HOURS', value: ({ slotSeconds }) => binaryBytes(slotSeconds.mem / 3_600), align: 'right' },
]

type CurvePoint = Pick<RetryInsight['successByRetry'][number], 'retry' | 'succeeded' | 'failed' | 'cumulative'>

/** The groups share no retries, so that their counts add up. */
function sumOfCurves(rows: readonly RetryInsight[]): CurvePoint[] {
  const points = Map.groupBy(
    rows.flatMap(({ successByRetry }) => successByRetry),
    ({ retry }) => retry,
  )
  let unmended = 1
  return [...points]
    .toSorted(([a], [b]) => a - b)
    .map(([retry, own]) => {
      const [succeeded, failed] = [total(own, 'succeeded'), total(own, 'failed')]
      if (succeeded + failed > 0) unmended *= failed / (succeeded + failed)
      return { retry, succeeded, failed, cumulative: 1 - unmended }
    })
}

function total(points: readonly CurvePoint[], field: 'succeeded' | 'failed'): number {
  return points.reduce((sum, point) => sum + point[field], 0)
}

const CURVE_COLUMNS = 30
const SHARE_COLUMNS = 16

async function curveText(curve: readonly CurvePoint[], terminal: Terminal): Promise<string> {
  const columns: Column<CurvePoint>[] = [
    { title: 'RETRY', value: ({ retry }) => retry, align: 'right', kept: true },
    { title: 'SUCCEEDED', value: ({ succeeded, failed }) => `${succeeded} of ${succeeded + failed}`, align: 'right' },
    { title: 'MENDED SO FAR', value: ({ cumulative }) => percent(cumulative), align: 'right', kept: true },
    { title: '', value: ({ cumulative }) => bar(cumulative, CURVE_COLUMNS), style: () => 'cyan' },
  ]
  return formatTable(curve, columns, terminal)
}

function bar(share: number, columns: number): string {
  return '█'.repeat(Math.round(share * columns)).padEnd(columns, '░')
}

const INSIGHT_CSV: Readonly<Record<string, (row: RetryInsight) => string | number | null | undefined>> = {
  key: ({ key }) => key,
  title: ({ title }) => title,
  attempts: ({ attempts }) => attempts,
  failed: ({ failed }) => failed,
  retries: ({ retries }) => retries,
  chainsSaved: ({ chainsSaved }) => chainsSaved,
  chainsLost: ({ chainsLost }) => chainsLost,
  runningSecondsLost: ({ runningSecondsLost }) => runningSecondsLost,
  cpuSecondsLost: ({ slotSecondsLost }) => slotSecondsLost.cpu,
  memoryByteSecondsLost: ({ slotSecondsLost }) => slotSecondsLost.mem,
  gpuSecondsLost: ({ slotSecondsLost }) => slotSecondsLost.gpu,
  waitingSeconds: ({ waitingSeconds }) => waitingSeconds,
  medianSecondsToSuccess: ({ medianSecondsToSuccess }) => medianSecondsToSuccess,
  effectiveShare: ({ effectiveShare }) => effectiveShare,
}

const USAGE_CSV: Readonly<Record<string, (row: UsageRow) => string | number | null | undefined>> = {
  key: ({ key }) => key,
  title: ({ title }) => title,
  sessions: ({ sessions }) => sessions,
  runningSeconds: ({ runningSeconds }) => runningSeconds,
  cpuSeconds: ({ slotSeconds }) => slotSeconds.cpu,
  memoryByteSeconds: ({ slotSeconds }) => slotSeconds.mem,
  gpuSeconds: ({ slotSeconds }) => slotSeconds.gpu,
  cpuSecondsUsed: ({ cpuSecondsUsed }) => cpuSecondsUsed,
}
