import { getRouteApi, Link } from '@tanstack/react-router'
import { useEffect } from 'react'
import { usePolled } from '../../api/poll.ts'
import { useKeys } from '../../app/keys.ts'
import { Dropped, EmptyUnderFilters, ListPanel } from '../../app/list/list-panel.tsx'
import { BULK_ACTIONS, type SearchOf } from '../../app/list/search.ts'
import { Ago } from '../../app/moments.tsx'
import { ACTION_WORDS, filterInWords } from '../../bulk/bulk-words.ts'
import { leftInWords, ProgressBar, StateMark } from '../../bulk/progress.tsx'
import { Button, Choice, Keys } from '../../design/controls.tsx'
import { count, counted } from '../../words/numbers.ts'
import { UiResubmissionsDocument, type UiResubmissionsQuery } from './resubmissions.generated.ts'
import '../../design/panel.css'
import './resubmissions.css'

const route = getRouteApi('/frame/resubmissions')

type Row = UiResubmissionsQuery['resubmissions']['edges'][number]['node']

const PAGE_ROWS = 50
const EVERY_MS = 2_000

/** Actions on many chains at once, with their authors and progress. */
export function ResubmissionsPage() {
  const search = route.useSearch()
  const change = useChangeSearch()
  const { data, error, again } = usePolled(
    UiResubmissionsDocument,
    { action: search.action ? [BULK_ACTIONS[search.action]] : null, first: PAGE_ROWS, after: search.after ?? null },
    EVERY_MS,
  )
  useEffect(() => {
    document.title = 'Resubmissions · Reprise'
  }, [])
  useRowKeys()
  const rows = data?.resubmissions.edges.map(({ node }) => node) ?? []
  return (
    <div className="list-page">
      <h1 tabIndex={-1}>Resubmissions</h1>
      <div className="filters">
        <Choice
          label="Action"
          value={search.action ?? ''}
          any="Any action"
          names={ACTION_NAMES}
          onChange={(action) => change({ action, after: undefined })}
        />
      </div>
      <Dropped names={search.dropped} />
      <ListPanel
        label="Resubmissions"
        rowClass="resubmission-row"
        columns={['Action', 'On', 'Progress', 'By', { title: 'Begun', className: 'resubmission-at' }]}
        read={{ data, error, again }}
        rows={rows}
        hasMore={data?.resubmissions.pageInfo.hasNextPage ?? false}
        empty={<Empty search={search} />}
      >
        {(row, rowIndex) => <ResubmissionRow key={row.id} row={row} rowIndex={rowIndex} />}
      </ListPanel>
      <Foot search={search} data={data} />
    </div>
  )
}

const ACTION_NAMES = Object.fromEntries(
  Object.entries(BULK_ACTIONS).map(([word, action]) => [word, ACTION_WORDS[action].noun]),
) as Record<keyof typeof BULK_ACTIONS, string>

function useChangeSearch(): (change: Partial<SearchOf<'resubmissions'>>) => void {
  const navigate = route.useNavigate()
  return (change) =>
    void navigate({ search: (before) => ({ ...before, dropped: undefined, ...change }), replace: true })
}

function ResubmissionRow({ row, rowIndex }: { row: Row; rowIndex: number }) {
  const { noun } = ACTION_WORDS[row.action]
  const conditions = filterInWords(row.filter).join(' · ')
  const words = leftInWords(row)
  return (
    <div role="row" aria-rowindex={rowIndex} className="table-row resubmission-row">
      <span role="cell" className="resubmission-name">
        <StateMark state={row.state} refused={row.done === 0 && row.refusedCount > 0} />
        <Link
          to="/resubmissions/$resubmissionId"
          params={{ resubmissionId: row.resubmissionId }}
          className="table-link"
        >
          {noun} of {counted(row.total, 'chain')}
        </Link>
      </span>
      <span role="cell" className="resubmission-what" title={conditions}>
        {conditions}
      </span>
      <span role="cell" className="resubmission-progress">
        <ProgressBar progress={row} label={`${noun} of ${counted(row.total, 'chain')}`} />
        <span className="resubmission-words" title={words}>
          {words}
        </span>
      </span>
      <span role="cell" className="resubmission-by" title={row.actor}>
        {row.actor}
      </span>
      <span role="cell" className="resubmission-at">
        <Ago at={row.createdAt} />
      </span>
    </div>
  )
}

/** Why there is nothing, and what next. */
function Empty({ search }: { search: SearchOf<'resubmissions'> }) {
  const change = useChangeSearch()
  const { action, after } = search
  if (action !== undefined || after !== undefined) {
    return (
      <EmptyUnderFilters
        title="Nothing of it here"
        filters={{ action, after: after && 'this place' }}
        onRemove={(name) => change({ [name]: undefined })}
      />
    )
  }
  return (
    <div className="empty">
      <h2>Nothing was done to many at once yet</h2>
      <p>
        Select chains with <Keys keys="x" />, or all that match a filter, and resubmit, retry, cancel or terminate them
        together. What became of each of them stays here.
      </p>
      <Link to="/chains" search={{ state: 'failed' }} className="button">
        To the failed chains
      </Link>
    </div>
  )
}

function Foot({ search, data }: { search: SearchOf<'resubmissions'>; data: UiResubmissionsQuery | undefined }) {
  const change = useChangeSearch()
  const page = data?.resubmissions
  if (!page || page.edges.length === 0) return <footer className="table-foot" />
  const { hasNextPage, endCursor } = page.pageInfo
  return (
    <footer className="table-foot">
      <span>
        {count(page.totalCount)}
        {page.totalCountIsExact ? '' : '+'} in all
      </span>
      {search.after !== undefined && <Button onClick={() => change({ after: undefined })}>Newest</Button>}
      {hasNextPage && <Button onClick={() => change({ after: endCursor! })}>Older ones</Button>}
      <span className="table-foot-keys" aria-hidden="true">
        <Keys keys="j k" /> move <Keys keys="enter" /> open <Keys keys="?" /> keys
      </span>
    </footer>
  )
}

function useRowKeys(): void {
  const move = (by: number) => {
    const all = [...document.querySelectorAll<HTMLElement>('.resubmission-row .table-link')]
    const at = all.findIndex((link) => link === document.activeElement)
    all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + by))]?.focus()
  }
  useKeys([
    { keys: 'j', does: 'next row', run: () => move(1) },
    { keys: 'k', does: 'row before', run: () => move(-1) },
  ])
}
