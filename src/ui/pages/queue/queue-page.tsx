import { getRouteApi, Link } from '@tanstack/react-router'
import { Tabs } from '../../app/list/list-filters.tsx'
import { ListPage, PageFoot, showsProjects, useChangeSearch, useList, useRowKeys } from '../../app/list/list-page.tsx'
import { AttemptLink } from '../../app/list/row-link.tsx'
import { Ago, useMoments } from '../../app/moments.tsx'
import type { Column } from '../../design/table.tsx'
import { count } from '../../words/numbers.ts'
import { UiQueueDocument, type UiQueueQuery } from './queue.generated.ts'
import './queue.css'

const route = getRouteApi('/frame/queue')

const PAGE_ROWS = 50
const EVERY_MS = 5_000
const DEFAULT_GROUP = 'default'

type Row = UiQueueQuery['queue']['edges'][number]['node']

/** What waits in line in a resource group, in the order of turns, each with its expected start. */
export function QueuePage() {
  const { group = DEFAULT_GROUP, dropped } = route.useSearch()
  const change = useChangeSearch<'queue'>()
  const list = useList(UiQueueDocument, { group, first: PAGE_ROWS }, ({ queue }) => queue, EVERY_MS)
  const groups = list.data?.resourceGroups ?? []
  useRowKeys()
  return (
    <ListPage
      title="Queue"
      dropped={dropped}
      list={list}
      rowClass="queue-row"
      columns={columnsOf(showsProjects(undefined, list.rows))}
      empty={
        <div className="empty">
          <h2>Nothing is in line</h2>
          <p>
            Sessions that wait for a start time, for others or for a key are not in line. They are among the{' '}
            <Link to="/chains" search={{ state: 'queued' }} className="text-link">
              queued chains
            </Link>
            .
          </p>
        </div>
      }
      foot={<PageFoot noun="session" list={list} />}
    >
      <Tabs
        label="By resource group"
        tabs={(groups.length === 0 ? [{ name: group, pendingSessions: null }] : groups).map((each) => ({
          tab: each.name,
          name: each.name,
          counted: each.pendingSessions,
        }))}
        chosen={group}
        onChoose={(chosen) => change({ group: chosen === DEFAULT_GROUP ? undefined : chosen })}
      />
    </ListPage>
  )
}

function columnsOf(showsProject: boolean): readonly Column<Row>[] {
  return [
    {
      title: 'Behind',
      className: 'queue-before',
      cell: ({ queuePlace }) => (queuePlace?.before == null ? '–' : count(queuePlace.before)),
    },
    {
      title: 'Session',
      className: 'named',
      cell: (session) => (
        <>
          <AttemptLink session={session} />
          {session.attempt > 1 && <span className="table-tag">attempt {session.attempt}</span>}
          {showsProject && <span className="table-tag">{session.project.name}</span>}
        </>
      ),
    },
    { title: 'Priority', className: 'queue-priority', isNamed: true, cell: ({ priority }) => count(priority) },
    { title: 'Created', className: 'queue-created', cell: ({ createdAt }) => <Ago at={createdAt} said="created" /> },
    {
      title: 'Starts',
      className: 'queue-start',
      hint: ({ queuePlace }) => queuePlace?.whyUnknown,
      cell: ({ queuePlace }) => <Start place={queuePlace} />,
    },
  ]
}

function Start({ place }: { place: Row['queuePlace'] }) {
  const { minute, absolute } = useMoments()
  if (!place) return 'now'
  if (place.expectedStartAt === null) return <span className="queue-unknown">{place.whyUnknown}</span>
  const at = Date.parse(place.expectedStartAt)
  return (
    <time dateTime={place.expectedStartAt} title={absolute(at)}>
      about {minute(at)}
    </time>
  )
}
