import { useState, type SubmitEvent } from 'react'
import { Button } from '../../design/button.tsx'
import { CrossIcon } from '../../design/icons.tsx'
import { typed } from '../../design/typed.ts'
import { useChangeSearch } from './use-change-search.ts'

/** The list begins with what was active on that day, however many chains came after it. */
export function GoToDate() {
  const change = useChangeSearch()
  const [isOpen, setOpen] = useState(false)
  if (!isOpen) {
    return (
      <Button kind="quiet" onClick={() => setOpen(true)}>
        Go to a date
      </Button>
    )
  }
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault()
    const [year, month, day] = typed(event.currentTarget, 'day').split('-').map(Number)
    if (year !== undefined && month !== undefined && day !== undefined && year > 0) {
      // Up to the end of that day, by the clock on the wall.
      change({ to: new Date(year, month - 1, day + 1).toISOString(), since: undefined, order: undefined })
    }
    setOpen(false)
  }
  return (
    <form className="label-form date-form" onSubmit={submit}>
      <input
        name="day"
        type="date"
        aria-label="Day to go to"
        // oxlint-disable-next-line jsx-a11y/no-autofocus -- it appears where it was asked for
        autoFocus
        onKeyDown={(event) => {
          if (event.key === 'Escape') setOpen(false)
        }}
      />
      <Button type="submit">Go</Button>
    </form>
  )
}

export function LabelFilter({ label }: { label: string | undefined }) {
  const change = useChangeSearch()
  const [isOpen, setOpen] = useState(false)
  if (label !== undefined) {
    return (
      <Button className="chip" aria-label={`Remove the label ${label}`} onClick={() => change({ label: undefined })}>
        <span>{label.replace(':', '=')}</span>
        <CrossIcon />
      </Button>
    )
  }
  if (!isOpen) {
    return (
      <Button kind="quiet" onClick={() => setOpen(true)}>
        + Label
      </Button>
    )
  }
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault()
    const [key, ...rest] = typed(event.currentTarget, 'label').split('=')
    if (key!.trim() !== '') change({ label: `${key!.trim()}:${rest.join('=').trim()}` })
    setOpen(false)
  }
  return (
    <form className="label-form" onSubmit={submit}>
      <input
        name="label"
        aria-label="Label, as key=value"
        placeholder="team=cms"
        // oxlint-disable-next-line jsx-a11y/no-autofocus -- it appears where it was asked for
        autoFocus
        autoComplete="off"
        spellCheck="false"
        maxLength={200}
        onKeyDown={(event) => {
          if (event.key === 'Escape') setOpen(false)
        }}
      />
    </form>
  )
}
