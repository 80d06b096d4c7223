import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { FailureGroupState } from '../../../client/schema-types.generated.ts'
import { usePolled } from '../../api/poll.ts'
import { CAUSES, failureFilter } from '../../app/causes.ts'
import { showsProjects, useChangeSearch } from '../../app/list/list-page.tsx'
import { MESSAGE_ORDERS, type SearchOf } from '../../app/list/search.ts'
import { RANGE_NAMES, spanOf } from '../../app/list/time-range.ts'
import { Ago, useMoments } from '../../app/moments.tsx'
import { Outdated, ProblemPanel } from '../../app/page.tsx'
import { causeInWords, lookOfCause } from '../../design/causes.ts'
import { Button, Choice } from '../../design/controls.tsx'
import { CauseMark, Panel, Skeleton } from '../../design/panel.tsx'
import { type Column, Table } from '../../design/table.tsx'
import { count, counted, percentage } from '../../words/numbers.ts'
import { shortDuration } from '../../words/time.ts'
import { confinedTo, Sparkline, StateMark, stateWord } from './message-parts.tsx'
import { UiFailureMessagesDocument, type UiFailureMessagesQuery } from './messages.generated.ts'

const EVERY_MS = 10_000
const ROWS_AT_FIRST = 10
const ROWS_MAX = 100

/** Muted and resolved groups are shown only if they are asked for. */
const SHOWN: FailureGroupState[] = ['OPEN', 'KNOWN']

const ORDER_NAMES = { attempts: 'most attempts', latest: 'latest', lost: 'most CPU time lost' }
const SHOW_NAMES = { present: 'open and known', all: 'all states' }

/** Failed attempts grouped by what they say. */
export function Messages({ search }: { search: SearchOf<'failures'> }) {
  const { range = '24h', cause, project, order = 'attempts', show } = search
  const moments = useMoments()
  const change = useChangeSearch<'failures'>()
  const [isLong, setLong] = useState(false)
  const { data, error, again } = usePolled(
    UiFailureMessagesDocument,
    (now: number) => ({
      filter:
        cause === undefined && project === undefined
          ? null
          : { ...(project !== undefined && { project }), ...(cause !== undefined && failureFilter(CAUSES[cause])) },
      from: spanOf(range, now, moments.offsetMinutes(now)).from,
      states: show === 'all' ? null : SHOWN,
      orderBy: MESSAGE_ORDERS[order],
      first: isLong ? ROWS_MAX : ROWS_AT_FIRST,
    }),
    EVERY_MS,
  )
  // Another order, or more rows, are read while the rows before stay.
  const [before, setBefore] = useState(data)
  if (data !== undefined && data !== before) setBefore(data)
  const shown = data ?? before
  return (
    <Panel
      title="By message"
      className="messages-panel"
      aside={
        <>
          <Choice
            label="Order of messages"
            value={order}
            names={ORDER_NAMES}
            onChange={(chosen) => change({ order: chosen === 'attempts' ? undefined : chosen })}
          />
          <Choice
            label="States of messages"
            value={show ?? 'present'}
            names={SHOW_NAMES}
            onChange={(chosen) => change({ show: chosen === 'all' ? 'all' : undefined })}
          />
        </>
      }
    >
      {shown && <Outdated error={error} />}
      {shown ? (
        <Rows data={shown} search={search} onMore={() => setLong(true)} />
      ) : error ? (
        <ProblemPanel error={error} onAgain={again} />
      ) : (
        <Skeleton />
      )}
    </Panel>
  )
}

interface RowsProps {
  data: UiFailureMessagesQuery
  search: SearchOf<'failures'>
  onMore: () => void
}

function Rows({ data, search: { range = '24h', project, show }, onMore }: RowsProps) {
  const { edges, totalCount } = data.failureGroups
  const groups = edges.map(({ node }) => node)
  const left = totalCount - groups.length
  if (groups.length === 0) {
    return (
      <p className="panel-empty">
        {show === 'all'
          ? `No message of a failure in the ${RANGE_NAMES[range]}.`
          : `No open or known message in the ${RANGE_NAMES[range]}.`}
      </p>
    )
  }
  return (
    <>
      <Table
        label="Failures by message"
        rowClass="message-row"
        columns={columnsOf(groups, range, showsProjects(project, groups))}
        rows={groups.map((group) => ({ ...group, id: group.failureGroupId }))}
        isPart={left > 0}
      />
      {left > 0 && (
        <p className="messages-more">
          {groups.length < ROWS_MAX ? (
            <Button kind="quiet" onClick={onMore}>
              {totalCount <= ROWS_MAX
                ? `All ${count(totalCount)}`
                : `The first ${count(ROWS_MAX)} of ${count(totalCount)}`}
            </Button>
          ) : (
            `The first ${count(ROWS_MAX)} of ${count(totalCount)}.`
          )}
        </p>
      )}
    </>
  )
}

type Group = UiFailureMessagesQuery['failureGroups']['edges'][number]['node']

function columnsOf(
  groups: readonly Group[],
  range: NonNullable<SearchOf<'failures'>['range']>,
  showsProject: boolean,
): readonly Column<Group>[] {
  return [
    {
      title: 'Message',
      className: 'message-what',
      value: ({ title }) => title,
      cell: (group) => {
        const { failureGroupId, title, cause, exitCode, project } = group
        return (
          <>
            <span className="message-cause" title={causeInWords(cause, exitCode)}>
              <CauseMark {...lookOfCause(cause, exitCode)} />
            </span>
            <Link
              to="/failures/$failureGroupId"
              params={{ failureGroupId }}
              search={{ range }}
              className="table-link message-title"
              title={title}
            >
              {title}
            </Link>
            {stateWord(group) !== 'open' && <StateMark group={group} />}
            {confinedTo(group, groups).map((words) => (
              <span key={words} className="table-tag message-place" title={words}>
                {words}
              </span>
            ))}
            {showsProject && <span className="table-tag">{project.name}</span>}
          </>
        )
      },
    },
    {
      title: 'Attempts',
      className: 'message-attempts',
      value: ({ attempts }) => attempts,
      isDown: true,
      cell: ({ attempts, sparkline }) => (
        <>
          <b title={counted(attempts, 'attempt')}>{count(attempts)}</b>
          <Sparkline parts={sparkline} />
        </>
      ),
    },
    {
      title: 'Chains',
      className: 'message-chains',
      value: ({ chains }) => chains,
      isDown: true,
      cell: ({ chains }) => (
        <>
          {count(chains)}
          <span className="group-noun">{chains === 1 ? ' chain' : ' chains'}</span>
        </>
      ),
    },
    {
      title: 'Saved',
      className: 'message-saved',
      value: ({ succeededLater }) => succeededLater,
      isDown: true,
      hint: () => 'The share of its chains that has succeeded since.',
      cell: ({ succeededLater }) => (succeededLater === null ? '–' : percentage(succeededLater, 1)),
    },
    {
      title: 'CPU lost',
      className: 'message-lost',
      value: ({ cpuSecondsLost }) => cpuSecondsLost,
      isDown: true,
      hint: () => 'The time that its attempts ran, times the CPUs that they held.',
      cell: ({ cpuSecondsLost }) => (cpuSecondsLost === 0 ? '–' : shortDuration(cpuSecondsLost)),
    },
    {
      title: 'Last',
      className: 'message-latest',
      value: ({ lastSeenAt }) => lastSeenAt,
      isDown: true,
      cell: ({ lastSeenAt }) => lastSeenAt !== null && <Ago at={lastSeenAt} />,
    },
  ]
}
