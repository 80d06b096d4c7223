import { Link } from '@tanstack/react-router'
import type { SessionAction } from '../../../client/schema-types.generated.ts'
import { ProblemPanel } from '../../app/problem-panel.tsx'
import { ACTION_WORDS, reasonInWords } from '../../bulk/bulk-words.ts'
import { Button } from '../../design/button.tsx'
import { FailedIcon, SucceededIcon } from '../../design/icons.tsx'
import { Skeleton } from '../../design/skeleton.tsx'
import { count } from '../../words/count.ts'
import type { UiResubmissionItemFragment } from '../resubmissions/resubmissions.generated.ts'
import type { ShowWord } from './resubmission-search.ts'
import type { Items } from './use-items.ts'
import '../../design/panel.css'
import '../../design/table.css'

interface Props {
  items: Items
  action: SessionAction
  show: ShowWord | undefined
}

/** What became of each chain. */
export function ItemTable({ items: { rows, error, more, refresh }, action, show }: Props) {
  const showsProject = new Set(rows?.map(({ session }) => session?.project.id)).size > 1
  return (
    <>
      <div className="table-panel resubmission-items">
        {rows === null && error ? (
          <ProblemPanel error={error} onAgain={refresh} />
        ) : rows === null ? (
          <Skeleton />
        ) : rows.length === 0 ? (
          <div className="empty">
            <p>{NOTHING[show ?? 'all']}</p>
          </div>
        ) : (
          <div
            role="table"
            aria-label="Chains"
            aria-rowcount={more ? -1 : rows.length + 1}
            className="list-table"
            // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls is scrolled by keys
            tabIndex={0}
          >
            <div role="rowgroup" className="table-columns">
              <div role="row" aria-rowindex={1} className="table-row item-row head">
                <span role="columnheader">Chain</span>
                <span role="columnheader">Attempt</span>
                <span role="columnheader">What became of it</span>
              </div>
            </div>
            <div role="rowgroup">
              {rows.map((item, index) => (
                <ItemRow key={item.id} {...{ item, action, showsProject }} rowIndex={index + 2} />
              ))}
            </div>
          </div>
        )}
      </div>
      <footer className="table-foot">
        {rows !== null && rows.length > 0 && <span>{count(rows.length)} shown</span>}
        {more && <Button onClick={more}>Show more</Button>}
      </footer>
    </>
  )
}

const NOTHING: Readonly<Record<ShowWord | 'all', string>> = {
  all: 'Nothing matched.',
  done: 'It was done to none yet.',
  refused: 'None was refused.',
  left: 'None is left.',
}

function ItemRow(props: {
  item: UiResubmissionItemFragment
  rowIndex: number
  action: SessionAction
  showsProject: boolean
}) {
  const { item, rowIndex, action, showsProject } = props
  const { session } = item
  return (
    <div role="row" aria-rowindex={rowIndex} className="table-row item-row">
      <span role="cell" className="item-name">
        {session === null ? (
          <code title="It does not exist, or is not yours to see">{item.sessionId}</code>
        ) : (
          <>
            <Link
              to="/chains/$chainId"
              params={{ chainId: session.chainId }}
              className="table-link"
              title={session.name}
            >
              {session.name}
            </Link>
            {showsProject && <span className="table-tag">{session.project.name}</span>}
          </>
        )}
      </span>
      <span role="cell" className="item-attempt">
        {session?.attempt}
        {item.childSession && ` to ${item.childSession.attempt}`}
      </span>
      <span role="cell" className="item-outcome">
        <Outcome item={item} action={action} />
      </span>
    </div>
  )
}

function Outcome({
  item: { status, code, message },
  action,
}: {
  item: UiResubmissionItemFragment
  action: SessionAction
}) {
  if (status === 'DONE')
    return (
      <>
        <SucceededIcon className="tone-succeeded" />
        <span>{ACTION_WORDS[action].done}</span>
      </>
    )
  if (status === 'PENDING') return <span className="item-why">left</span>
  return (
    <>
      <FailedIcon className="tone-exit" />
      <span className="item-reason">{reasonInWords(code!)}</span>
      <span className="item-why" title={message!}>
        {message}
      </span>
    </>
  )
}
