import { getRouteApi, Link } from '@tanstack/react-router'
import { usePolled } from '../../api/poll.ts'
import { ListPage, NoRows, useChangeSearch, useRowKeys } from '../../app/list/list-page.tsx'
import { BULK_ACTIONS } from '../../app/list/search.ts'
import { Ago } from '../../app/moments.tsx'
import { ACTION_WORDS, titleOf } from '../../bulk/bulk-words.ts'
import { filterInWords } from '../../bulk/filter-words.ts'
import { leftInWords, ProgressBar, StateMark } from '../../bulk/progress.tsx'
import { Button, Choice, Keys } from '../../design/controls.tsx'
import type { Column } from '../../design/table.tsx'
import { count } from '../../words/numbers.ts'
import { UiBulkActionsDocument, type UiBulkActionsQuery } from './bulk-actions.generated.ts'
import '../../design/panel.css'
import './bulk-actions.css'

const route = getRouteApi('/frame/bulk-actions')

type Row = UiBulkActionsQuery['bulkActions']['edges'][number]['node']

const PAGE_ROWS = 50
const EVERY_MS = 2_000

/** Actions on many chains at once, with their authors and progress. */
export function BulkActionsPage() {
  const search = route.useSearch()
  const { action, after } = search
  const change = useChangeSearch<'bulkActions'>()
  const read = usePolled(
    UiBulkActionsDocument,
    { action: action ? [BULK_ACTIONS[action]] : null, first: PAGE_ROWS, after: after ?? null },
    EVERY_MS,
  )
  useRowKeys()
  const page = read.data?.bulkActions
  const { hasNextPage, endCursor } = page?.pageInfo ?? { hasNextPage: false, endCursor: null }
  const next = hasNextPage ? () => change({ after: endCursor! }) : null
  const rows = page?.edges.map(({ node }) => node) ?? []
  return (
    <ListPage
      title="Bulk actions"
      dropped={search.dropped}
      list={{ ...read, rows, offset: 0, first: null, next }}
      rowClass="bulk-action-row"
      columns={COLUMNS}
      empty={
        <NoRows title="No action fits" filters={{ action, after: after && 'this place' }} onChange={change}>
          <h2>No action on many chains yet</h2>
          <p>
            Select chains with <Keys keys="x" />, or all that match a filter, and resubmit, retry, cancel or terminate
            them together. The outcome of each is kept here.
          </p>
          <Link to="/chains" search={{ state: 'failed' }} className="button">
            To the failed chains
          </Link>
        </NoRows>
      }
      foot={
        <footer className="table-foot">
          {page && rows.length > 0 && (
            <>
              <span>
                {count(page.totalCount)}
                {page.totalCountIsExact ? '' : '+'} in all
              </span>
              {after !== undefined && <Button onClick={() => change({ after: undefined })}>Newest</Button>}
              {next && <Button onClick={next}>Older ones</Button>}
              <span className="table-foot-keys" aria-hidden="true">
                <Keys keys="j k" /> move <Keys keys="enter" /> open <Keys keys="?" /> keys
              </span>
            </>
          )}
        </footer>
      }
    >
      <div className="filters">
        <Choice
          label="Action"
          value={action ?? ''}
          any="Any action"
          names={ACTION_NAMES}
          onChange={(chosen) => change({ action: chosen, after: undefined })}
        />
      </div>
    </ListPage>
  )
}

const ACTION_NAMES = Object.fromEntries(
  Object.entries(BULK_ACTIONS).map(([word, action]) => [word, ACTION_WORDS[action].noun]),
) as Record<keyof typeof BULK_ACTIONS, string>

const COLUMNS: readonly Column<Row>[] = [
  {
    title: 'Action',
    className: 'bulk-action-name',
    cell: (row) => (
      <>
        <StateMark state={row.state} refused={row.done === 0 && row.refusedCount > 0} />
        <Link to="/bulk-actions/$bulkActionId" params={{ bulkActionId: row.bulkActionId }} className="table-link">
          {titleOf(row)}
        </Link>
      </>
    ),
  },
  {
    title: 'On',
    className: 'bulk-action-what',
    hint: conditionsOf,
    cell: conditionsOf,
  },
  {
    title: 'Progress',
    className: 'bulk-action-progress',
    cell: (row) => {
      const words = leftInWords(row)
      return (
        <>
          <ProgressBar progress={row} label={titleOf(row)} />
          <span className="bulk-action-words" title={words}>
            {words}
          </span>
        </>
      )
    },
  },
  { title: 'By', className: 'bulk-action-by', hint: ({ actor }) => actor, cell: ({ actor }) => actor },
  {
    title: 'Begun',
    headClass: 'bulk-action-at',
    className: 'bulk-action-at',
    cell: ({ createdAt }) => <Ago at={createdAt} />,
  },
]

function conditionsOf({ filter }: Row): string {
  return filterInWords(filter).join(' · ')
}
