import { getRouteApi, Link } from '@tanstack/react-router'
import { groupFilterOf } from '../../app/list/filters.ts'
import { NameFilter, Tabs } from '../../app/list/list-filters.tsx'
import {
  ListPage,
  NoRows,
  PageFoot,
  showsProjects,
  useChangeSearch,
  useList,
  useRowKeys,
  useSteadyRows,
} from '../../app/list/list-page.tsx'
import { Ago } from '../../app/moments.tsx'
import type { Column } from '../../design/table.tsx'
import { count } from '../../words/numbers.ts'
import { endedOf, GroupBar, GroupMark } from './group-parts.tsx'
import { type UiGroupRowFragment, UiGroupsDocument } from './groups.generated.ts'
import '../../design/controls.css'
import './groups.css'

const route = getRouteApi('/frame/groups')

const PAGE_ROWS = 50
const EVERY_MS = 2_000

type Row = UiGroupRowFragment & { id: string }

/** The list of groups, newest first, each with the states of its members. */
export function GroupsPage() {
  const search = route.useSearch()
  const { status, q, project } = search
  const change = useChangeSearch<'groups'>()
  const variables = { filter: groupFilterOf(search), project, first: PAGE_ROWS }
  const read = useList(UiGroupsDocument, variables, ({ sessionGroups }) => sessionGroups, EVERY_MS)
  const { data } = read
  const fresh = read.rows.map((group) => ({ ...group, id: group.groupId }))
  const { rows, hold, release } = useSteadyRows(read.page, fresh)
  const list = { ...read, rows, hold, release }
  useRowKeys()
  return (
    <ListPage
      title="Groups"
      dropped={search.dropped}
      list={list}
      rowClass="groups-row"
      columns={columnsOf(showsProjects(project, rows))}
      empty={
        <NoRows title="No group fits" filters={{ status, q, project }} onChange={change}>
          <h2>No groups yet</h2>
          <p>A group is one piece of work that consists of many sessions, such as the tasks of an array:</p>
          <pre className="empty-command">
            <code>{`npx reprise run --array 1-20%4 --group sweep --retries 2 -- \\
  sh -c 'echo task $REPRISE_INDEX of $REPRISE_GROUP_SIZE'`}</code>
          </pre>
        </NoRows>
      }
      foot={<PageFoot noun="group" list={list} />}
    >
      <Tabs
        label="By status"
        tabs={[
          { tab: undefined, name: 'All', counted: data?.all ?? null },
          { tab: 'live', name: 'Running', counted: data?.live ?? null },
          { tab: 'ended', name: 'Ended', counted: data?.ended ?? null },
        ]}
        chosen={status}
        onChoose={(chosen) => change({ status: chosen })}
      />
      <div className="filters">
        <NameFilter value={q} label="Start of name or key" onChange={(words) => change({ q: words })} />
      </div>
    </ListPage>
  )
}

function columnsOf(showsProject: boolean): readonly Column<Row>[] {
  return [
    {
      title: 'Group',
      className: 'named',
      value: ({ name }) => name,
      cell: ({ groupId, name, key, project }) => (
        <>
          <Link to="/groups/$groupId" params={{ groupId }} className="table-link" title={name}>
            {name}
          </Link>
          {key !== null && key !== name && (
            <span className="table-tag" title={`key ${key}`}>
              {key}
            </span>
          )}
          {showsProject && <span className="table-tag">{project.name}</span>}
        </>
      ),
    },
    {
      title: 'State',
      className: 'groups-state',
      value: ({ state }) => state,
      hint: ({ reason }) => reason,
      cell: (group) => <GroupMark group={group} />,
    },
    {
      title: 'Members by state',
      className: 'groups-bar',
      cell: ({ name, counts }) => <GroupBar counts={counts} label={`Progress of ${name}`} />,
    },
    {
      title: 'Ended',
      className: 'groups-ended',
      value: ({ counts }) => (counts.total === 0 ? 0 : endedOf(counts) / counts.total),
      isDown: true,
      cell: ({ counts }) => `${count(endedOf(counts))} of ${count(counts.total)}`,
    },
    {
      title: 'Failed',
      className: 'groups-failed',
      value: ({ counts }) => counts.failed,
      isDown: true,
      isNamed: true,
      cell: ({ groupId, counts: { failed } }) =>
        failed === 0 ? (
          '–'
        ) : (
          <Link to="/chains" search={{ group: groupId, state: 'failed' }} className="groups-failed-link">
            {count(failed)}
          </Link>
        ),
    },
    {
      title: 'Created',
      className: 'groups-created',
      value: ({ createdAt }) => createdAt,
      isDown: true,
      cell: ({ createdAt }) => <Ago at={createdAt} said="created" />,
    },
  ]
}
