import { getRouteApi } from '@tanstack/react-router'
import { useEffect } from 'react'
import { useQuery } from 'urql'
import { setServerNow } from '../../api/clock.ts'
import { Tabs } from '../../app/list/list-filters.tsx'
import { IgnoredParameters } from '../../app/list/list-page.tsx'
import { ITEM_STATUSES } from '../../app/list/search.ts'
import { Ago } from '../../app/moments.tsx'
import { NotFound, ProblemPanel, useTitle } from '../../app/page.tsx'
import { BackLink } from '../../app/places.tsx'
import { overridesInWords, titleOf } from '../../bulk/bulk-words.ts'
import { filterInWords } from '../../bulk/filter-words.ts'
import { AbortButton, ProgressBar, ProgressFigures, Refusals, StateMark } from '../../bulk/progress.tsx'
import { useOutcome } from '../../bulk/use-bulk.ts'
import { ArrowLeftIcon } from '../../design/icons.tsx'
import { Skeleton } from '../../design/panel.tsx'
import { duration } from '../../words/time.ts'
import { ItemTable, useItems } from './bulk-action-items.tsx'
import { UiBulkActionDocument, type UiBulkActionQuery } from './bulk-actions.generated.ts'
import './bulk-actions.css'

const route = getRouteApi('/frame/bulk-actions/$bulkActionId')

type BulkAction = NonNullable<UiBulkActionQuery['bulkAction']>

/** One action on many chains: its progress, refusals with reasons, and the outcome for each chain. */
export function BulkActionPage() {
  const { bulkActionId: id } = route.useParams()
  const isId = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(id)
  const [{ data, error }, again] = useQuery({
    query: UiBulkActionDocument,
    variables: { id },
    requestPolicy: 'network-only',
    pause: !isId,
  })
  useEffect(() => {
    if (data) setServerNow(data.now)
  }, [data])
  useTitle(data?.bulkAction ? titleOf(data.bulkAction) : 'Bulk action')
  if (!isId || (data && !data.bulkAction)) return <NotFound />
  if (data) return <Loaded key={id} bulkAction={data.bulkAction!} />
  if (error) return <ProblemPanel error={error} onAgain={() => again({ requestPolicy: 'network-only' })} />
  return (
    <div className="list-page">
      <h1 tabIndex={-1}>Bulk action</h1>
      <div className="table-panel">
        <Skeleton />
      </div>
    </div>
  )
}

function Loaded({ bulkAction }: { bulkAction: BulkAction }) {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const items = useItems(bulkAction.bulkActionId, search.show ? ITEM_STATUSES[search.show] : null)
  const { outcome, error, put } = useOutcome(bulkAction, items.refresh)
  const title = titleOf(outcome)
  return (
    <div className="list-page">
      <div className="bulk-action-head">
        <BackLink to="/bulk-actions" className="bulk-action-back">
          <ArrowLeftIcon /> Bulk actions
        </BackLink>
        <h1 tabIndex={-1}>
          <StateMark state={outcome.state} refused={outcome.done === 0 && outcome.refusedCount > 0} />
          {title}
        </h1>
        {outcome.state === 'RUNNING' && <AbortButton id={outcome.bulkActionId} onAborted={put} />}
      </div>
      <Facts bulkAction={{ ...bulkAction, ...outcome }} />
      <IgnoredParameters names={search.dropped} />
      {error !== null && (
        <p className="notice" role="status">
          This is no longer up to date: {error.message}
        </p>
      )}
      <div className="bulk-action-outcome">
        <div className="bulk-action-figures" role="status">
          <ProgressBar progress={outcome} label={title} />
          <ProgressFigures progress={outcome} />
        </div>
        <Refusals title="Why not" groups={outcome.refusals} />
      </div>
      <Tabs
        label="By what became of it"
        tabs={[
          { tab: undefined, name: 'All', counted: { totalCount: outcome.total } },
          { tab: 'done', name: 'Done', counted: { totalCount: outcome.done } },
          { tab: 'refused', name: 'Refused', counted: { totalCount: outcome.refusedCount } },
          {
            tab: 'left',
            name: outcome.state === 'ABORTED' ? 'Left undone' : 'Left',
            counted: { totalCount: outcome.pending },
          },
        ]}
        chosen={search.show}
        onChoose={(show) => void navigate({ search: { ...(show && { show }) }, replace: true })}
      />
      <ItemTable items={items} action={outcome.action} show={search.show} />
    </div>
  )
}

function Facts({ bulkAction }: { bulkAction: BulkAction }) {
  const { actor, createdAt, finishedAt, abortedBy, filter, overrides } = bulkAction
  const at = Date.parse(createdAt)
  const changes = overridesInWords(overrides)
  return (
    <ul className="bulk-action-facts">
      {filterInWords(filter).map((condition) => (
        <li key={condition} className="bulk-action-condition">
          {condition}
        </li>
      ))}
      {changes.length > 0 && <li>with {changes.join(', ')}</li>}
      <li>
        by {actor}, <Ago at={createdAt} />
      </li>
      {finishedAt !== null && <li>took {duration((Date.parse(finishedAt) - at) / 1000)}</li>}
      {abortedBy !== null && <li>stopped by {abortedBy}</li>}
    </ul>
  )
}
