import { useNavigate } from '@tanstack/react-router'
import { useState, type SubmitEvent } from 'react'
import { createStore, useStore } from '../../api/store.ts'
import { LazyMenu } from '../../app/act/lazy-menu.tsx'
import { Button } from '../../design/button.tsx'
import { ChevronIcon } from '../../design/icons.tsx'
import type { MenuEntry } from '../../design/menu.tsx'
import { typed } from '../../design/typed.ts'
import { readChainsSearch, type ChainsSearch } from './chains-search.ts'

/** An address of the list with a name. */
interface View {
  name: string
  search: ChainsSearch
}

const KEPT = 'reprise-chains-views'
const VIEWS_MAX = 30

const views = createStore<readonly View[]>(readViews())

/** Views that were saved in this browser; what is looked at can be saved as one. */
export function ViewsMenu({ search }: { search: ChainsSearch }) {
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
        // oxlint-disable-next-line jsx-a11y/no-autofocus -- it appears where it was asked for
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

/** The same for the same list, whatever the order of what it says. */
function keyOf(search: ChainsSearch): string {
  const entries = Object.entries(search).filter(([name, value]) => value !== undefined && name !== 'dropped')
  return JSON.stringify(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

function keep(after: readonly View[]): void {
  localStorage.setItem(KEPT, JSON.stringify(after))
  views.set(after)
}

/** Of another version, perhaps: what is not understood is left out. */
function readViews(): View[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEPT) ?? '[]')
    if (!Array.isArray(kept)) return []
    return (kept as unknown[]).flatMap((each) => {
      const { name, search } = Object(each) as Partial<Record<keyof View, unknown>>
      if (typeof name !== 'string' || typeof search !== 'object' || search === null) return []
      const { dropped: _, ...read } = readChainsSearch(search as Record<string, unknown>)
      return [{ name, search: read }]
    })
  } catch {
    return []
  }
}
