import { useNavigate } from '@tanstack/react-router'
import { type CSSProperties, type SubmitEvent, useState } from 'react'
import { createStore, useStore } from '../../api/store.ts'
import { LazyMenu } from '../../app/lazy-menu.tsx'
import { type SearchOf, searchReader } from '../../app/list/search.ts'
import { Button, typed } from '../../design/controls.tsx'
import { ChevronIcon } from '../../design/icons.tsx'
import type { MenuEntry } from '../../design/menu.tsx'

/** An address of the list under a name. */
interface View {
  name: string
  search: SearchOf<'chains'>
}

const KEPT_VIEWS = 'reprise-chains-views'
const VIEWS_MAX = 30

const views = createStore<readonly View[]>(readViews())

/** The views saved in this browser. The present list can be saved as one. */
export function ViewsMenu({ search }: { search: SearchOf<'chains'> }) {
  const saved = useStore(views)
  const navigate = useNavigate()
  const [isNaming, setNaming] = useState(false)
  const key = keyOf(search)
  const current = saved.find((view) => keyOf(view.search) === key)
  if (isNaming) {
    return (
      <NameForm
        onName={(name) => {
          if (name !== undefined) keep([...views.get().filter((view) => view.name !== name), { name, search }])
          setNaming(false)
        }}
      />
    )
  }
  const entries: MenuEntry[] = [
    ...saved.map(({ name, search: to }) => ({
      text: name,
      isChosen: name === current?.name,
      run: () => void navigate({ to: '/chains', search: to }),
    })),
    ...(saved.length > 0 ? (['line'] as const) : []),
    current
      ? { text: `Forget ${current.name}`, run: () => keep(views.get().filter(({ name }) => name !== current.name)) }
      : { text: 'Save this view', isDisabled: saved.length >= VIEWS_MAX, run: () => setNaming(true) },
  ]
  return (
    <LazyMenu entries={entries}>
      <span className="visually-hidden">View: </span>
      <span className="view-name">{current?.name ?? 'Views'}</span>
      <ChevronIcon />
    </LazyMenu>
  )
}

function NameForm({ onName }: { onName: (name: string | undefined) => void }) {
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault()
    onName(typed(event.currentTarget, 'view') || undefined)
  }
  return (
    <form className="label-form view-form" onSubmit={submit}>
      <input
        name="view"
        aria-label="Name of the view"
        placeholder="Name of the view"
        // oxlint-disable-next-line jsx-a11y/no-autofocus -- it appears after a click
        autoFocus
        autoComplete="off"
        maxLength={40}
        onKeyDown={(event) => {
          if (event.key === 'Escape') onName(undefined)
        }}
      />
      <Button type="submit">Save</Button>
    </form>
  )
}

/** The key of a list, regardless of the order of its parameters. */
function keyOf(search: SearchOf<'chains'>): string {
  const entries = Object.entries(search).filter(([name, value]) => value !== undefined && name !== 'dropped')
  return JSON.stringify(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

function keep(after: readonly View[]): void {
  localStorage.setItem(KEPT_VIEWS, JSON.stringify(after))
  views.set(after)
}

/** Reads the saved views. They may come from another version: those that cannot be parsed are left out. */
function readViews(): View[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEPT_VIEWS) ?? '[]')
    if (!Array.isArray(kept)) return []
    return (kept as unknown[]).flatMap((each) => {
      const { name, search } = Object(each) as Partial<Record<keyof View, unknown>>
      if (typeof name !== 'string' || typeof search !== 'object' || search === null) return []
      const { dropped: _, ...read } = searchReader('chains')(search as Record<string, unknown>)
      return [{ name, search: read }]
    })
  } catch {
    return []
  }
}

/** The columns that can be hidden, each with its width. Labels are beside the name. */
const COLUMNS = {
  labels: { name: 'Labels', width: '' },
  attempts: { name: 'Attempts', width: '172px' },
  outlook: { name: 'Outlook', width: 'minmax(180px, 4fr)' },
  ran: { name: 'Ran', width: '62px' },
  latest: { name: 'Latest', width: '62px' },
} as const
type Column = keyof typeof COLUMNS

const KEPT_COLUMNS = 'reprise-chains-without'

const leftOut = createStore<readonly Column[]>(
  (localStorage.getItem(KEPT_COLUMNS) ?? '').split(' ').filter((each): each is Column => Object.hasOwn(COLUMNS, each)),
)

/** The columns that were chosen in this browser, for the table. */
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
  localStorage.setItem(KEPT_COLUMNS, after.join(' '))
  leftOut.set(after)
}
