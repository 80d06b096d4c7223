import { Link } from '@tanstack/react-router'
import { CAUSES, wordOfCause } from '../../app/causes.ts'
import { Tabs } from '../../app/list/list-filters.tsx'
import { GROUPINGS, type GroupingWord, type SearchOf } from '../../app/list/search.ts'
import { RANGE_NAMES } from '../../app/list/time-range.ts'
import { Ago } from '../../app/moments.tsx'
import { lookOfCause, TIMED_OUT } from '../../design/causes.ts'
import { CauseMark, Panel } from '../../design/panel.tsx'
import { type Column, Table } from '../../design/table.tsx'
import { count, counted, percentage } from '../../words/numbers.ts'
import type { UiFailuresQuery } from './failures.generated.ts'

type Given = UiFailuresQuery['groups'][number]
/** Timeouts are a kind of their own. */
type Group = Omit<Given, 'cause'> & { cause: Given['cause'] | typeof TIMED_OUT }

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
export function Groups({ data: { groups: given, statistics }, search, onBy }: Props) {
  const groups: Group[] = given.map((group) => (group.timedOut ? { ...group, cause: TIMED_OUT } : group))
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
        <Table
          label={`Failed attempts by ${GROUPING_NAMES[by].toLowerCase()}`}
          data-by={by}
          rowClass="group-row"
          columns={columnsOf({ by, most, statistics, listOf: (group) => listOf(group, search, statistics.from) })}
          rows={groups.map((group) => ({ ...group, id: idOf(group) }))}
        />
      )}
      {groups.length === GROUPS_MAX && <p className="groups-more">The {GROUPS_MAX} largest groups.</p>}
    </Panel>
  )
}

const GROUPS_MAX = 50

const NOTHING = { exit: 'an exit code', name: 'a name', label: 'a label', agent: 'been on an agent' }

function idOf({ cause, exitCode, name, label, agentId }: Group): string {
  return JSON.stringify([cause, exitCode, name, label, agentId])
}

interface Options {
  by: GroupingWord
  /** The failed attempts of the largest group. */
  most: number
  statistics: UiFailuresQuery['statistics']
  listOf: (group: Group) => ReturnType<typeof listOf>
}

function columnsOf({ by, most, statistics, listOf: searchOf }: Options): readonly Column<Group>[] {
  return [
    {
      title: GROUPING_NAMES[by],
      className: 'group-what',
      value: (group) => group.exitCode ?? titleOf(group) ?? lookOfCause(group.cause).words,
      cell: (group) => (
        <Link to="/chains" search={searchOf(group)} className="table-link" title={titleOf(group)}>
          <What group={group} />
        </Link>
      ),
    },
    {
      title: 'Failed attempts',
      className: 'group-failed',
      value: ({ failed }) => failed,
      isDown: true,
      cell: ({ cause, failed }) => (
        <>
          <b>{count(failed)}</b>
          <span className={`group-bar tint-${lookOfCause(cause).tone}`} aria-hidden="true">
            <span style={{ width: `${(failed / most) * 100}%` }} />
          </span>
        </>
      ),
    },
    {
      title: 'Chains',
      className: 'group-chains',
      value: ({ chains }) => chains,
      isDown: true,
      cell: (group) => (
        <Link to="/chains" search={searchOf(group)} aria-label={counted(group.chains, 'chain')}>
          {count(group.chains)}
          <span className="group-noun">{group.chains === 1 ? ' chain' : ' chains'}</span>
        </Link>
      ),
    },
    {
      title: 'Failed for good',
      className: 'group-lost',
      value: ({ lost }) => lost,
      isDown: true,
      cell: (group) =>
        group.lost === 0 ? (
          '–'
        ) : (
          <Link
            to="/chains"
            search={{ ...searchOf(group), state: 'failed' }}
            aria-label={`${counted(group.lost, 'chain')} that failed for good`}
          >
            {count(group.lost)}
          </Link>
        ),
    },
    ...(by === 'cause' ? [retriedColumn(statistics)] : []),
    {
      title: 'Last',
      className: 'group-latest',
      value: ({ latestAt }) => latestAt,
      isDown: true,
      cell: ({ latestAt }) => <Ago at={latestAt} />,
    },
  ]
}

function retriedColumn({ byCause }: UiFailuresQuery['statistics']): Column<Group> {
  const retriesOf = ({ cause }: Group): { retries: number; retriesSucceeded?: number } =>
    byCause.find((each) => each.cause === cause) ?? { retries: 0 }
  return {
    title: 'Retries succeeded',
    className: 'group-saved',
    value: (group) => {
      const { retries, retriesSucceeded = 0 } = retriesOf(group)
      return retries > 0 ? retriesSucceeded / retries : null
    },
    isDown: true,
    cell: (group) => {
      const found = byCause.find((each) => each.cause === group.cause)
      const { retries, retriesSucceeded } = retriesOf(group)
      return retries > 0 ? (
        <>
          {percentage(retriesSucceeded!, retries)}{' '}
          <span className="group-of">
            of {count(retries)}
            {found!.timedOut > 0 && ', with timeouts'}
          </span>
        </>
      ) : (
        '–'
      )
    },
  }
}

/** The parameters of the list with the group's chains. */
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
