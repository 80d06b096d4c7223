import { Link } from '@tanstack/react-router'
import { useCallback, useEffect, useRef, useState } from 'react'
import { useClient } from 'urql'
import type { BulkActionItemStatus, SessionAction } from '../../../client/schema-types.generated.ts'
import { ListTable } from '../../app/list/list-page.tsx'
import type { ITEM_STATUSES } from '../../app/list/search.ts'
import { ACTION_WORDS, reasonInWords } from '../../bulk/bulk-words.ts'
import { Button } from '../../design/controls.tsx'
import { FailedIcon, SucceededIcon } from '../../design/icons.tsx'
import type { Column } from '../../design/table.tsx'
import { count } from '../../words/numbers.ts'
import { type UiBulkActionItemFragment, UiBulkActionItemsDocument } from './bulk-actions.generated.ts'
import '../../design/panel.css'

interface Props {
  items: Items
  action: SessionAction
  show: keyof typeof ITEM_STATUSES | undefined
}

/** The outcome for each chain. */
export function ItemTable({ items: { rows, error, more, refresh }, action, show }: Props) {
  const showsProject = new Set(rows?.map(({ session }) => session?.project.id)).size > 1
  return (
    <>
      <ListTable
        label="Chains"
        panelClass="bulk-action-items"
        rowClass="item-row"
        columns={columnsOf(action, showsProject)}
        list={{
          data: rows ?? undefined,
          error: rows === null ? (error ?? undefined) : undefined,
          again: refresh,
          rows: rows ?? [],
          offset: 0,
          next: more,
        }}
        empty={
          <div className="empty">
            <p>{NOTHING[show ?? 'all']}</p>
          </div>
        }
      />
      <footer className="table-foot">
        {rows !== null && rows.length > 0 && <span>{count(rows.length)} shown</span>}
        {more && <Button onClick={more}>Show more</Button>}
      </footer>
    </>
  )
}

const NOTHING: Readonly<Record<keyof typeof ITEM_STATUSES | 'all', string>> = {
  all: 'Nothing matched.',
  done: 'None is done yet.',
  refused: 'None was refused.',
  left: 'None is left.',
}

function columnsOf(action: SessionAction, showsProject: boolean): readonly Column<UiBulkActionItemFragment>[] {
  return [
    {
      title: 'Chain',
      className: 'item-name',
      cell: ({ sessionId, session }) =>
        session === null ? (
          <code title="It does not exist, or is hidden from you">{sessionId}</code>
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
        ),
    },
    {
      title: 'Attempt',
      className: 'item-attempt',
      cell: ({ session, childSession }) => (
        <>
          {session?.attempt}
          {childSession && ` to ${childSession.attempt}`}
        </>
      ),
    },
    {
      title: 'What became of it',
      className: 'item-outcome',
      cell: (item) => <Outcome item={item} action={action} />,
    },
  ]
}

function Outcome({
  item: { status, code, message },
  action,
}: {
  item: UiBulkActionItemFragment
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

const PAGE_ROWS = 100

interface Listed {
  rows: readonly UiBulkActionItemFragment[]
  endCursor: string | null
}

interface Items {
  /** Null until they are read. */
  rows: readonly UiBulkActionItemFragment[] | null
  error: Error | null
  /** Reads more; null where all have been read. */
  more: (() => void) | null
  /** Reads the first page again, unless more pages have been read. */
  refresh: () => void
}

/** The outcomes of the items, a page at a time. */
export function useItems(id: string, status: BulkActionItemStatus | null): Items {
  const client = useClient()
  const key = `${id} ${status}`
  const [listed, setListed] = useState<Listed & { key: string }>()
  const [error, setError] = useState<Error | null>(null)
  const shown = listed?.key === key ? listed : undefined
  /** Late answers for another list are ignored. */
  const wanted = useRef(key)
  useEffect(() => {
    wanted.current = key
  }, [key])

  const read = useCallback(
    async (after: string | null): Promise<Listed> => {
      const variables = { id, status, first: PAGE_ROWS, after }
      const { data, error: refused } = await client
        .query(UiBulkActionItemsDocument, variables, { requestPolicy: 'network-only' })
        .toPromise()
      const items = data?.bulkAction?.items
      if (!items) throw refused ?? new Error('There is no such action')
      const { hasNextPage, endCursor } = items.pageInfo
      return { rows: items.edges.map(({ node }) => node), endCursor: hasNextPage ? endCursor : null }
    },
    [client, id, status],
  )
  const readFirst = useCallback(async () => {
    try {
      const first = await read(null)
      if (wanted.current !== key) return
      setError(null)
      setListed((last) => (last?.key === key && last.rows.length > first.rows.length ? last : { ...first, key }))
    } catch (refused) {
      if (wanted.current === key) setError(refused as Error)
    }
  }, [read, key])
  useEffect(() => void readFirst(), [readFirst])

  const more = async (after: string) => {
    try {
      const next = await read(after)
      setListed((last) => (last?.key === key ? { ...next, key, rows: [...last.rows, ...next.rows] } : last))
    } catch (refused) {
      if (wanted.current === key) setError(refused as Error)
    }
  }
  const endCursor = shown?.endCursor ?? null
  return {
    rows: shown?.rows ?? null,
    error,
    more: endCursor === null ? null : () => void more(endCursor),
    refresh: () => void readFirst(),
  }
}
