import type { SubmitEvent } from 'react'
import { Button, TextField, typed } from '../../design/controls.tsx'
import { count } from '../../words/numbers.ts'
import '../../design/controls.css'
import '../app.css'

interface Tab<Key extends string> {
  tab: Key | undefined
  name: string
  /** Null until it is known; undefined for a tab without a count. */
  counted?: { totalCount: number; totalCountIsExact?: boolean } | null | undefined
}

/** The tabs above a list, each with the number of its rows. */
export function Tabs<Key extends string>(props: {
  label: string
  tabs: readonly Tab<Key>[]
  chosen: Key | undefined
  onChoose: (tab: Key | undefined) => void
}) {
  const { label, tabs, chosen, onChoose } = props
  return (
    <nav className="tabs" aria-label={label}>
      {tabs.map(({ tab, name, counted }) => (
        <button
          key={name}
          type="button"
          className="tab"
          aria-current={tab === chosen ? 'page' : undefined}
          onClick={() => onChoose(tab)}
        >
          {name}
          {counted !== undefined && (
            <span className="tab-count">
              {counted ? `${count(counted.totalCount)}${counted.totalCountIsExact === false ? '+' : ''}` : '\u2007'}
            </span>
          )}
        </button>
      ))}
    </nav>
  )
}

/** A filter by a part of the name, applied when Enter is pressed. */
export function NameFilter({
  value,
  label = 'Part of the name',
  onChange,
}: {
  value: string | undefined
  label?: string
  onChange: (q: string | undefined) => void
}) {
  return (
    <form
      className="name-filter"
      onSubmit={(event) => {
        event.preventDefault()
        onChange(typed(event.currentTarget, 'q') || undefined)
      }}
    >
      <input
        key={value}
        name="q"
        type="search"
        defaultValue={value}
        aria-label={label}
        placeholder={label}
        autoComplete="off"
        spellCheck="false"
        maxLength={200}
      />
    </form>
  )
}

/** Asks for the key of the label to group by. */
export function LabelKeyForm({ value, onChoose }: { value: string | undefined; onChoose: (key: string) => void }) {
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault()
    const key = typed(event.currentTarget, 'key').trim()
    if (key !== '') onChoose(key)
  }
  return (
    <form className="label-key" onSubmit={submit}>
      <TextField label="Key of the label" name="key" defaultValue={value ?? ''} />
      <Button>Show</Button>
    </form>
  )
}
