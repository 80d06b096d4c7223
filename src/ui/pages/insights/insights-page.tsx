import { getRouteApi } from '@tanstack/react-router'
import { usePolled } from '../../api/poll.ts'
import { IgnoredParameters, useChangeSearch, useRowKeys } from '../../app/list/list-page.tsx'
import { LabelKeyForm, Tabs } from '../../app/list/list-filters.tsx'
import { INSIGHT_GROUPINGS, type InsightWord, type SearchOf } from '../../app/list/search.ts'
import { RANGE_NAMES, spanOf } from '../../app/list/time-range.ts'
import { useMoments } from '../../app/moments.tsx'
import { Outdated, ProblemPanel, useTitle } from '../../app/page.tsx'
import { lookOfCause } from '../../design/causes.ts'
import { Choice } from '../../design/controls.tsx'
import { CauseMark, Panel, Skeleton } from '../../design/panel.tsx'
import { type Column, Table } from '../../design/table.tsx'
import { count, percentage } from '../../words/numbers.ts'
import { shortDuration } from '../../words/time.ts'
import { LossBars, SuccessBars } from './plots.tsx'
import { UiInsightsDocument, type UiInsightsQuery } from './insights.generated.ts'
import './insights.css'

const route = getRouteApi('/frame/insights')

/** Figures lag behind by seconds, and change by the hour. */
const EVERY_MS = 30_000

/** What failures cost, and what retries bring. */
export function InsightsPage() {
  const search = route.useSearch()
  const { range = '31d', by = 'cause', key, project, dropped } = search
  const isAsked = by !== 'label' || key !== undefined
  const moments = useMoments()
  const change = useChangeSearch<'insights'>()
  const { data, error, again } = usePolled(
    UiInsightsDocument,
    (now: number) => ({
      filter: project === undefined ? null : { project },
      window: { from: spanOf(range, now, moments.offsetMinutes(now)).from },
      // Before a label is chosen, the groups are not shown.
      groupBy: isAsked ? INSIGHT_GROUPINGS[by] : INSIGHT_GROUPINGS.cause,
      labelKey: by === 'label' ? (key ?? null) : null,
    }),
    EVERY_MS,
  )
  useRowKeys()
  useTitle('Insights')
  return (
    <div className="insights-page">
      <div className="insights-head">
        <h1 tabIndex={-1}>Insights</h1>
        <Choice
          label="Time"
          value={range}
          names={RANGE_NAMES}
          onChange={(chosen) => change({ range: chosen === '31d' ? undefined : chosen })}
        />
      </div>
      <IgnoredParameters names={dropped} />
      {data && <Outdated error={error} />}
      {data ? (
        <>
          <Totals data={data} />
          <div className="insight-plots">
            <Panel title="CPU time lost by cause">
              <LossBars
                causes={data.causes}
                moments={moments}
                range={range}
                from={spanOf(range, Date.parse(data.now), moments.offsetMinutes(Date.parse(data.now))).from}
                to={data.now}
              />
            </Panel>
            <Panel title="Success by retry">
              <SuccessBars all={data.all} />
            </Panel>
          </div>
          <Groups data={data} search={search} onChange={change} />
        </>
      ) : error ? (
        <ProblemPanel error={error} onAgain={again} />
      ) : (
        <div className="panel">
          <Skeleton />
        </div>
      )}
    </div>
  )
}

function Totals({ data: { all } }: { data: UiInsightsQuery }) {
  const total = (of: (row: UiInsightsQuery['all'][number]) => number) => all.reduce((sum, row) => sum + of(row), 0)
  const figures: [string, string][] = [
    ['attempts', count(total(({ attempts }) => attempts))],
    ['failed', count(total(({ failed }) => failed))],
    ['chains saved by retries', count(total(({ chainsSaved }) => chainsSaved))],
    ['chains lost anyway', count(total(({ chainsLost }) => chainsLost))],
    ['CPU time lost', shortDuration(total(({ slotSecondsLost }) => slotSecondsLost.cpu))],
    ['waiting', shortDuration(total(({ waitingSeconds }) => waitingSeconds))],
  ]
  return (
    <dl className="insight-totals">
      {figures.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

const NAMES = {
  cause: 'Cause',
  exit: 'Exit code',
  message: 'Message',
  rule: 'Rule',
  name: 'Name',
  user: 'User',
  project: 'Project',
  label: 'Label',
  batch: 'Group',
  image: 'Image',
  agent: 'Agent',
  group: 'Resource group',
} satisfies Record<InsightWord, string>

interface GroupsProps {
  data: UiInsightsQuery
  search: SearchOf<'insights'>
  onChange: (change: { by?: InsightWord | undefined; key: string | undefined }) => void
}

function Groups({ data: { groups }, search: { by = 'cause', key, range = '31d' }, onChange }: GroupsProps) {
  const tabs = Object.keys(INSIGHT_GROUPINGS).map((word) => ({
    tab: word === 'cause' ? undefined : (word as InsightWord),
    name: NAMES[word as InsightWord],
  }))
  return (
    <Panel title="In common" className="insight-groups">
      <Tabs
        label="Grouped by"
        tabs={tabs}
        chosen={by === 'cause' ? undefined : by}
        onChoose={(chosen) => onChange({ by: chosen, key: undefined })}
      />
      {by === 'label' && <LabelKeyForm value={key} onChoose={(chosen) => onChange({ key: chosen })} />}
      {by === 'label' && key === undefined ? (
        <p className="panel-empty">Choose the key of a label.</p>
      ) : groups.length === 0 ? (
        <p className="panel-empty">Nothing in the {RANGE_NAMES[range]}.</p>
      ) : (
        <Table
          label={`Insights by ${NAMES[by].toLowerCase()}`}
          rowClass="insight-row"
          columns={columnsOf(by)}
          rows={groups.map((group) => ({ ...group, id: group.key ?? '' }))}
          isPart={groups.length === ROWS_MAX}
        />
      )}
    </Panel>
  )
}

const ROWS_MAX = 100

type Group = UiInsightsQuery['groups'][number]

function columnsOf(by: InsightWord): readonly Column<Group & { id: string }>[] {
  const number = (title: string, of: (group: Group) => number): Column<Group & { id: string }> => ({
    title,
    className: 'insight-number',
    headClass: 'insight-number',
    isNamed: true,
    value: of,
    isDown: true,
    cell: (group) => count(of(group)),
  })
  return [
    {
      title: NAMES[by],
      className: 'insight-what',
      value: ({ title }) => title,
      hint: ({ title }) => title,
      cell: (group) => <What by={by} group={group} />,
    },
    number('Failed', ({ failed }) => failed),
    number('Retries', ({ retries }) => retries),
    number('Saved', ({ chainsSaved }) => chainsSaved),
    number('Lost', ({ chainsLost }) => chainsLost),
    {
      title: 'CPU time lost',
      className: 'insight-number',
      headClass: 'insight-number',
      isNamed: true,
      value: ({ slotSecondsLost }) => slotSecondsLost.cpu,
      isDown: true,
      cell: ({ slotSecondsLost }) => shortDuration(slotSecondsLost.cpu),
    },
    {
      title: 'Success in',
      className: 'insight-number',
      headClass: 'insight-number',
      isNamed: true,
      value: ({ medianSecondsToSuccess }) => medianSecondsToSuccess,
      cell: ({ medianSecondsToSuccess: median }) => (median === null ? '–' : shortDuration(median)),
    },
    {
      title: 'Effective',
      className: 'insight-number',
      headClass: 'insight-number',
      isNamed: true,
      value: ({ effectiveShare }) => effectiveShare,
      cell: ({ effectiveShare: share }) => (share === null ? '–' : percentage(share, 1)),
    },
  ]
}

function What({ by, group: { key, title } }: { by: InsightWord; group: Group }) {
  if (by !== 'cause') {
    const words = by === 'exit' && key ? `exit code ${key}` : (title ?? (by === 'rule' ? 'no rule matched' : 'none'))
    return <span className="insight-title">{words}</span>
  }
  const look = lookOfCause(key)
  return (
    <span className="insight-cause">
      <CauseMark {...look} />
      {look.words}
    </span>
  )
}
