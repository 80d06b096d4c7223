import type { Command } from 'commander'
import type { SessionStatisticsQuery } from '../../client/node/index.ts'
import { act, describedCommand } from '../client-command.ts'
import { pair, past, seconds } from '../options/values.ts'
import { type Column, formatFields } from '../output/table.ts'
import type { Output } from '../output/output.ts'
import { binaryBytes, duration, instant } from '../output/format.ts'
import { formatUsage } from './session-text.ts'

interface StatsOptions {
  since?: string
  before?: string
  bucket?: number
  inProject?: string
  inGroup?: string
  ofUser?: string
  withName?: string
  withLabel?: [string, string]
}

type Statistics = SessionStatisticsQuery['sessionStatistics']
type Bucket = Statistics['buckets'][number]
type Figures = Bucket['figures']

export function statsCommand(): Command {
  const command = describedCommand('stats', 'show how many sessions ended and how, and how many retries succeeded', [
    'reprise stats --since 7d',
    'reprise stats --since 6h --bucket 1h --in-group default',
    'reprise stats --with-label study=7 --json',
  ])
    .option('--since <time>', 'that ended since this time, or a duration ago like 2h (default: a day)', past)
    .option('--before <time>', 'that ended before', past)
    .option('--bucket <duration>', 'one line for each span of this length', seconds)
    .option('--in-project <project>', 'in this project')
    .option('--in-group <group>', 'in this resource group')
    .option('--of-user <user>', 'of this user')
    .option('--with-name <name>', 'with this name')
    .option('--with-label <key=value>', 'with this label', pair)
  return act<StatsOptions>(command, async ({ client, out, signal }, options) => {
    const { since, before, bucket, inProject, inGroup, ofUser, withName, withLabel } = options
    const query = {
      from: since,
      to: before,
      bucketSeconds: bucket,
      project: inProject,
      resourceGroup: inGroup,
      user: ofUser,
      name: withName,
      label: withLabel && { key: withLabel[0], value: withLabel[1] },
    }
    const statistics = await client.sessionStatistics(query, { signal })
    if (out.json) return out.show(statistics, () => '')
    if (bucket !== undefined) return out.table(statistics.buckets, BUCKETS, 'nothing')
    out.print(totalsOf(statistics, out))
    if (statistics.byCause.length === 0) return
    out.print('')
    await out.table(statistics.byCause, CAUSES, '')
  })
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
  { title: 'RETRIED', value: ({ retries }) => retries, align: 'right' },
  { title: 'RETRIES SUCCEEDED', value: ({ retriesSucceeded }) => retriesSucceeded, align: 'right' },
]

function totalsOf({ from, to, total, byStatus, usage }: Statistics, { terminal }: Output): string {
  const { ended, succeeded, failed, cancelled } = total
  const open = byStatus.filter(({ status }) => !['TERMINATED', 'ERROR', 'CANCELLED'].includes(status))
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
