import { Link } from '@tanstack/react-router'
import { CAUSES, wordOfCause } from '../../app/causes.ts'
import { Tabs } from '../../app/list/list-filters.tsx'
import { GROUPINGS, type GroupingWord, type SearchOf } from '../../app/list/search.ts'
import { RANGE_NAMES } from '../../app/list/time-range.ts'
import { Ago } from '../../app/moments.tsx'
import { lookOfCause } from '../../design/causes.ts'
import { CauseMark, Panel } from '../../design/panel.tsx'
import { count, counted, percentage } from '../../words/numbers.ts'
import type { UiFailuresQuery } from './failures.generated.ts'
import '../../design/table.css'

type Group = UiFailuresQuery['groups'][number]

const GROUPING_NAMES = {
  cause: 'Cause',
  exit: 'Exit code',
  name: 'Name',
  label: 'Label',
  agent: 'Agent',
} satisfies Record<GroupingWord, string>

interface Props {
  data: UiFailuresQuery
  search: SearchOf<'failures'>
  onBy: (by: GroupingWord | undefined) => void
}

/** Groups of failed attempts, the largest first, each with its chains. */
export function Groups({ data: { groups, statistics }, search, onBy }: Props) {
  const { by = 'cause', cause, range = '24h' } = search
  const tabs = Object.keys(GROUPINGS).map((word) => ({
    tab: word === 'cause' ? undefined : (word as GroupingWord),
    name: GROUPING_NAMES[word as GroupingWord],
  }))
  const most = Math.max(1, ...groups.map(({ failed }) => failed))
  const heading = cause === undefined ? 'In common' : `In common: ${lookOfCause(CAUSES[cause]).words}`
  return (
    <Panel title={heading} className="groups-panel">
      <Tabs label="Grouped by" tabs={tabs} chosen={by === 'cause' ? undefined : by} onChoose={onBy} />
      {groups.length === 0 ? (
        <p className="panel-empty">
          {by === 'cause' || statistics.total.failed === 0
            ? `No attempt has failed in the ${RANGE_NAMES[range]}.`
            : `No failed attempt has ${NOTHING[by]}.`}
        </p>
      ) : (
        <div role="table" aria-label={`Failed attempts by ${GROUPING_NAMES[by].toLowerCase()}`} data-by={by}>
          <div role="rowgroup" className="table-columns">
            <div role="row" className="table-row group-row head">
              <span role="columnheader">{GROUPING_NAMES[by]}</span>
              <span role="columnheader">Failed attempts</span>
              <span role="columnheader">Chains</span>
              <span role="columnheader">Failed for good</span>
              {by === 'cause' && <span role="columnheader">Retries succeeded</span>}
              <span role="columnheader">Last</span>
            </div>
          </div>
          <div role="rowgroup">
            {groups.map((group) => (
              <Row
                key={keyOf(group)}
                group={group}
                most={most}
                search={search}
                from={statistics.from}
                retried={statistics.byCause.find((each) => each.cause === group.cause)}
              />
            ))}
          </div>
        </div>
      )}
      {groups.length === GROUPS_MAX && <p className="groups-more">The {GROUPS_MAX} largest groups.</p>}
    </Panel>
  )
}

const GROUPS_MAX = 50

const NOTHING = { exit: 'an exit code', name: 'a name', label: 'a label', agent: 'been on an agent' }

function keyOf({ cause, exitCode, name, label, agentId }: Group): string {
  return JSON.stringify([cause, exitCode, name, label, agentId])
}

function Row(props: {
  group: Group
  most: number
  search: SearchOf<'failures'>
  /** Since when they are counted. */
  from: string
  retried: UiFailuresQuery['statistics']['byCause'][number] | undefined
}) {
  const { group, most, search, from, retried } = props
  const { failed, chains, lost, latestAt } = group
  const { by = 'cause' } = search
  const list = listOf(group, search, from)
  return (
    <div role="row" className="table-row group-row">
      <span role="cell" className="group-what">
        <Link to="/chains" search={list} className="table-link" title={titleOf(group)}>
          <What group={group} />
        </Link>
      </span>
      <span role="cell" className="group-failed">
        <b>{count(failed)}</b>
        <span className={`group-bar tint-${lookOfCause(group.cause).tone}`} aria-hidden="true">
          <span style={{ width: `${(failed / most) * 100}%` }} />
        </span>
      </span>
      <span role="cell" className="group-chains">
        <Link to="/chains" search={list} aria-label={counted(chains, 'chain')}>
          {count(chains)}
          <span className="group-noun">{chains === 1 ? ' chain' : ' chains'}</span>
        </Link>
      </span>
      <span role="cell" className="group-lost">
        {lost === 0 ? (
          '–'
        ) : (
          <Link
            to="/chains"
            search={{ ...list, state: 'failed' }}
            aria-label={`${counted(lost, 'chain')} that failed for good`}
          >
            {count(lost)}
          </Link>
        )}
      </span>
      {by === 'cause' && (
        <span role="cell" className="group-saved">
          {retried && retried.retries > 0 ? (
            <>
              {percentage(retried.retriesSucceeded, retried.retries)}{' '}
              <span className="group-of">of {count(retried.retries)}</span>
            </>
          ) : (
            '–'
          )}
        </span>
      )}
      <span role="cell" className="group-latest">
        <Ago at={latestAt} />
      </span>
    </div>
  )
}

/** The chains that it counts. */
function listOf({ cause, exitCode, name, label, agentId }: Group, search: SearchOf<'failures'>, from: string) {
  const { project, cause: chosen } = search
  return {
    ...(project !== undefined && { project }),
    failed: (cause === null ? chosen : wordOfCause(cause)) ?? ('any' as const),
    from,
    ...(exitCode !== null && { exit: exitCode }),
    ...(name !== null && { name }),
    ...(label !== null && { label: `${label.key}:${label.value}` }),
    ...(agentId !== null && { agent: agentId }),
  }
}

function titleOf({ name, label, agentName }: Group): string | undefined {
  return name ?? agentName ?? (label ? `${label.key}=${label.value}` : undefined)
}

function What({ group: { cause, exitCode, name, label, agentName } }: { group: Group }) {
  if (exitCode !== null) return <>exit code {exitCode}</>
  if (label !== null) {
    return (
      <>
        {label.key}={label.value}
      </>
    )
  }
  if (name !== null || agentName !== null) return name ?? agentName
  const look = lookOfCause(cause)
  return (
    <span className="group-cause">
      <CauseMark {...look} />
      {look.words}
    </span>
  )
}
