import { Link, useNavigate } from '@tanstack/react-router'
import { useRef, useState } from 'react'
import type { ChainFilter, SessionAction } from '../../../client/schema-types.generated.ts'
import { serverNow } from '../../api/clock.ts'
import { GuardedButton } from '../../app/guarded-button.tsx'
import { useKeys } from '../../app/keys.ts'
import { lazyDialog } from '../../app/lazy-part.tsx'
import { chainFilterOf, WORK } from '../../app/list/filters.ts'
import type { SearchOf } from '../../app/list/search.ts'
import { useViewer } from '../../app/viewer.ts'
import { ACTION_WORDS, ACTIONS } from '../../bulk/bulk-words.ts'
import type { Selection } from '../../bulk/use-bulk.ts'
import { Button } from '../../design/controls.tsx'
import { count } from '../../words/numbers.ts'
import type { Rows } from './chain-list.ts'

const BulkDialog = lazyDialog(() => import('../../bulk/bulk-dialog.tsx'), 'BulkDialog')

interface Props {
  rows: Rows
  all: All
  /** The number of matching chains, as far as it is known. */
  total: { count: number; isExact: boolean } | null
  onDone: () => void
}

export interface All {
  filter: ChainFilter
  isAll: boolean
  setAll: (isAll: boolean) => void
}

/** Whether all matching chains are selected. Another filter ends that selection. */
export function useAll(search: SearchOf<'chains'>, chosen: Rows['chosen']): All {
  const key = JSON.stringify({ ...search, order: undefined, dropped: undefined })
  const [all, setAll] = useState<{ key: string; filter: ChainFilter } | null>(null)
  const isAll = all?.key === key && chosen.size === 0
  // The filter's time stays the same.
  const filter = isAll ? all.filter : chainFilterOf(search, serverNow())
  return { filter, isAll, setAll: (wanted) => setAll(wanted ? { key, filter } : null) }
}

/** The selected rows, or all that match, and the actions on them. */
export function SelectionBar({ rows, all, total, onDone }: Props) {
  const { can, role } = useViewer()
  const { chosen, clear } = rows
  const { filter, isAll, setAll } = all
  const { project } = filter
  const navigate = useNavigate()
  const [asked, setAsked] = useState<{ action: SessionAction; selection: Selection } | null>(null)
  const opener = useRef<HTMLElement | null>(null)
  const hasFilter = Object.entries(filter).some(([name, value]) => name !== 'sessionType' || value !== WORK)
  const many = total === null ? null : `${count(total.count)}${total.isExact ? '' : '+'}`
  const selectAll = () => {
    if (!hasFilter || total === null || total.count === 0) return
    clear()
    setAll(true)
  }
  const clearAll = () => {
    clear()
    setAll(false)
  }
  useKeys([
    {
      keys: 'c',
      does: 'create a session',
      run: () => void navigate({ to: '/chains/new', search: { ...(project != null && { project }) } }),
    },
    { keys: 'X', does: 'select all that match the filter', run: selectAll },
    { keys: 'Escape', does: 'clear the selection', run: clearAll },
  ])
  const ask = (action: SessionAction) => {
    opener.current = document.activeElement as HTMLElement | null
    setAsked({ action, selection: isAll ? { chainFilter: filter } : { sessionIds: [...chosen.values()] } })
  }
  const close = () => {
    setAsked(null)
    // The button may have disappeared with the selection.
    requestAnimationFrame(() =>
      (opener.current?.isConnected ? opener.current : document.querySelector<HTMLElement>('h1'))?.focus(),
    )
  }
  const isSelected = isAll || chosen.size > 0
  return (
    <div className="selection">
      {isSelected && (
        <span className="selection-count" role="status">
          {isAll ? `All ${many} that match are selected` : `${count(chosen.size)} selected`}
        </span>
      )}
      {isSelected &&
        ACTIONS.map((action) => {
          const { act, right } = ACTION_WORDS[action]
          return (
            <GuardedButton
              key={action}
              refusal={can[right] ? null : `Your token has the role ${role}, which may not do this.`}
              onClick={() => ask(action)}
            >
              {act}
            </GuardedButton>
          )
        })}
      {!isAll && many !== null && total!.count > chosen.size && (hasFilter || chosen.size > 0) && (
        <Button
          kind="quiet"
          aria-disabled={!hasFilter}
          title={hasFilter ? 'X' : 'Set a filter first: there is no action on all chains'}
          onClick={selectAll}
        >
          Select all {many} that match
        </Button>
      )}
      {!isSelected &&
        (can.createSessions ? (
          <Link to="/chains/new" search={{ ...(project != null && { project }) }} className="button">
            New session
          </Link>
        ) : (
          <GuardedButton refusal={`Your token has the role ${role}, which may not create sessions.`}>
            New session
          </GuardedButton>
        ))}
      {isSelected && (
        <Button kind="quiet" onClick={clearAll}>
          Clear
        </Button>
      )}
      <>
        {asked !== null && (
          <BulkDialog
            {...asked}
            onClose={close}
            onDone={() => {
              clearAll()
              onDone()
            }}
          />
        )}
      </>
    </div>
  )
}
