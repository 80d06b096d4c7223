import { typed } from '../../design/typed.ts'
import '../app.css'

/** A part of the name, taken when Enter is pressed. */
export function NameFilter({
  value,
  onChange,
}: {
  value: string | undefined
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
        aria-label="Part of the name"
        placeholder="Part of the name"
        autoComplete="off"
        spellCheck="false"
        maxLength={200}
      />
    </form>
  )
}
