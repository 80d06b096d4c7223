import { getRouteApi } from '@tanstack/react-router'
import { usePolled } from '../../api/poll.ts'
import { LabelKeyForm, Tabs } from '../../app/list/list-filters.tsx'
import { IgnoredParameters, useChangeSearch, useRowKeys } from '../../app/list/list-page.tsx'
import { USAGE_GROUPINGS, type UsageWord } from '../../app/list/search.ts'
import { RANGE_NAMES, spanOf } from '../../app/list/time-range.ts'
import { useMoments } from '../../app/moments.tsx'
import { Outdated, ProblemPanel, useTitle } from '../../app/page.tsx'
import { Button, Choice } from '../../design/controls.tsx'
import { Panel, Skeleton } from '../../design/panel.tsx'
import { type Column, Table } from '../../design/table.tsx'
import { count, percentage } from '../../words/numbers.ts'
import { shortDuration } from '../../words/time.ts'
import { UiUsageDocument, type UiUsageQuery } from './insights.generated.ts'
import './insights.css'

const route = getRouteApi('/frame/usage')

const EVERY_MS = 30_000

const NAMES = {
  user: 'User',
  project: 'Project',
  label: 'Label',
  name: 'Name',
  group: 'Resource group',
} satisfies Record<UsageWord, string>

const { '1h': _, ...RANGES_SHOWN } = RANGE_NAMES

/** Who used the cluster. */
export function UsagePage() {
  const { range = '7d', by = 'user', key, project, dropped } = route.useSearch()
  const moments = useMoments()
  const change = useChangeSearch<'usage'>()
  const isAsked = by !== 'label' || key !== undefined
  const { data, error, again } = usePolled(
    UiUsageDocument,
    (now: number) => ({
      filter: project === undefined ? null : { project },
      window: { from: spanOf(range, now, moments.offsetMinutes(now)).from },
      // Before a label is chosen, the answer is not shown.
      groupBy: isAsked ? USAGE_GROUPINGS[by] : USAGE_GROUPINGS.user,
      labelKey: by === 'label' ? (key ?? null) : null,
    }),
    EVERY_MS,
  )
  useRowKeys()
  useTitle('Usage')
  const tabs = Object.keys(USAGE_GROUPINGS).map((word) => ({
    tab: word === 'user' ? undefined : (word as UsageWord),
    name: NAMES[word as UsageWord],
  }))
  const rows = isAsked ? data?.usage : []
  return (
    <div className="insights-page">
      <div className="insights-head">
        <h1 tabIndex={-1}>Usage</h1>
        {rows && rows.length > 0 && (
          <Button kind="quiet" onClick={() => save(`usage-by-${by}.csv`, csvOf(rows))}>
            CSV
          </Button>
        )}
        <Choice
          label="Time"
          value={range === '1h' ? '24h' : range}
          names={RANGES_SHOWN}
          onChange={(chosen) => change({ range: chosen === '7d' ? undefined : chosen })}
        />
      </div>
      <IgnoredParameters names={dropped} />
      {data && <Outdated error={error} />}
      <Panel title="Time that was requested, in whole days" className="insight-groups">
        <Tabs
          label="Grouped by"
          tabs={tabs}
          chosen={by === 'user' ? undefined : by}
          onChoose={(chosen) => change({ by: chosen, key: undefined })}
        />
        {by === 'label' && <LabelKeyForm value={key} onChoose={(chosen) => change({ key: chosen })} />}
        {rows && isAsked ? (
          <Rows rows={rows} by={by} />
        ) : !isAsked ? (
          <p className="panel-empty">Choose the key of a label.</p>
        ) : error ? (
          <ProblemPanel error={error} onAgain={again} />
        ) : (
          <Skeleton />
        )}
      </Panel>
    </div>
  )
}

type Row = UiUsageQuery['usage'][number]

type Shown = Row & { id: string }

function Rows({ rows, by }: { rows: readonly Row[]; by: UsageWord }) {
  if (rows.length === 0) return <p className="panel-empty">Nothing ran.</p>
  const hasGpus = rows.some(({ slotSeconds }) => slotSeconds.gpu > 0)
  return (
    <Table
      label={`Usage by ${NAMES[by].toLowerCase()}`}
      rowClass={hasGpus ? 'usage-row with-gpus' : 'usage-row'}
      columns={columnsOf(rows, by, hasGpus)}
      rows={rows.map((row) => ({ ...row, id: row.key ?? '' }))}
    />
  )
}

function columnsOf(rows: readonly Row[], by: UsageWord, hasGpus: boolean): readonly Column<Shown>[] {
  const cpus = rows.map(({ slotSeconds }) => slotSeconds.cpu)
  const all = cpus.reduce((sum, cpu) => sum + cpu, 0)
  return [
    {
      title: NAMES[by],
      className: 'insight-what',
      value: ({ title }) => title,
      hint: ({ title }) => title,
      cell: ({ title }) => <span className="insight-title">{title ?? 'none'}</span>,
    },
    {
      title: 'Share of CPU time',
      className: 'usage-share',
      value: ({ slotSeconds }) => slotSeconds.cpu,
      isDown: true,
      cell: ({ slotSeconds: { cpu } }) => <Share cpu={cpu} all={all} most={Math.max(...cpus)} />,
    },
    hours('CPU time', ({ slotSeconds }) => slotSeconds.cpu),
    hours('Used', ({ cpuSecondsUsed }) => cpuSecondsUsed),
    ...(hasGpus ? [hours('GPU time', ({ slotSeconds }) => slotSeconds.gpu)] : []),
    {
      title: 'Sessions',
      className: 'insight-number',
      headClass: 'insight-number',
      isNamed: true,
      value: ({ sessions }) => sessions,
      isDown: true,
      cell: ({ sessions }) => count(sessions),
    },
  ]
}

function hours(title: string, of: (row: Row) => number): Column<Shown> {
  return {
    title,
    className: 'insight-number',
    headClass: 'insight-number',
    isNamed: true,
    value: of,
    isDown: true,
    cell: (row) => shortDuration(of(row)),
  }
}

function Share({ cpu, all, most }: { cpu: number; all: number; most: number }) {
  return (
    <>
      <span className="usage-bar" aria-hidden="true">
        <span style={{ width: `${most === 0 ? 0 : (cpu / most) * 100}%` }} />
      </span>
      {percentage(cpu, all === 0 ? 1 : all)}
    </>
  )
}

const CSV_COLUMNS: Readonly<Record<string, (row: Row) => string | number | null>> = {
  key: ({ key }) => key,
  title: ({ title }) => title,
  sessions: ({ sessions }) => sessions,
  runningSeconds: ({ runningSeconds }) => runningSeconds,
  cpuSeconds: ({ slotSeconds }) => slotSeconds.cpu,
  memoryByteSeconds: ({ slotSeconds }) => slotSeconds.mem,
  gpuSeconds: ({ slotSeconds }) => slotSeconds.gpu,
  cpuSecondsUsed: ({ cpuSecondsUsed }) => cpuSecondsUsed,
}

/** For spreadsheets: text that these would take for a formula has an apostrophe before it. */
function csvOf(rows: readonly Row[]): string {
  const lines = rows.map((row) => Object.values(CSV_COLUMNS).map((value) => csvField(value(row))))
  return [Object.keys(CSV_COLUMNS), ...lines].map((fields) => `${fields.join(',')}\r\n`).join('')
}

function csvField(value: string | number | null): string {
  if (typeof value !== 'string') return String(value ?? '')
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

function save(name: string, text: string): void {
  const href = URL.createObjectURL(new Blob([text], { type: 'text/csv' }))
  const link = Object.assign(document.createElement('a'), { href, download: name })
  link.click()
  URL.revokeObjectURL(href)
}
