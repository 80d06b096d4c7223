import type { CSSProperties } from 'react'
import { createStore, useStore } from '../../api/store.ts'
import { LazyMenu } from '../../app/act/lazy-menu.tsx'
import { ChevronIcon } from '../../design/icons.tsx'

/** Those that can be left out, with what each takes of a row. Labels stand beside the name. */
const COLUMNS = {
  labels: { name: 'Labels', width: '' },
  attempts: { name: 'Attempts', width: '172px' },
  outlook: { name: 'Outlook', width: 'minmax(180px, 4fr)' },
  ran: { name: 'Ran', width: '62px' },
  latest: { name: 'Latest', width: '62px' },
} as const
type Column = keyof typeof COLUMNS

const KEPT = 'reprise-chains-without'

const leftOut = createStore<readonly Column[]>(
  (localStorage.getItem(KEPT) ?? '').split(' ').filter((each): each is Column => Object.hasOwn(COLUMNS, each)),
)

/** For the table: the columns that this browser's owner wants. */
export function useColumns(): { without: string | undefined; columns: CSSProperties } {
  const without = useStore(leftOut)
  const widths = Object.entries(COLUMNS).flatMap(([column, { width }]) =>
    without.includes(column as Column) || width === '' ? [] : [width],
  )
  return {
    without: without.length > 0 ? without.join(' ') : undefined,
    columns: { '--chain-columns': ['38px', 'minmax(180px, 5fr)', ...widths].join(' ') } as CSSProperties,
  }
}

export function ColumnsMenu() {
  const without = useStore(leftOut)
  const entries = Object.entries(COLUMNS).map(([column, { name }]) => ({
    text: name,
    isChosen: !without.includes(column as Column),
    run: () => toggle(column as Column),
  }))
  return (
    <span className="columns-menu">
      <LazyMenu entries={entries}>
        Columns <ChevronIcon />
      </LazyMenu>
    </span>
  )
}

function toggle(column: Column): void {
  const before = leftOut.get()
  const after = before.includes(column) ? before.filter((each) => each !== column) : [...before, column]
  localStorage.setItem(KEPT, after.join(' '))
  leftOut.set(after)
}
