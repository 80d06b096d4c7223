import { ChevronIcon } from './icons.tsx'
import './controls.css'

/** One of several words, or `any` of them. */
export function Choice<Value extends string>(props: {
  label: string
  value: Value | ''
  any?: string
  names: Readonly<Record<Value, string>>
  onChange: (value: Value | undefined) => void
}) {
  const { label, value, any, names, onChange } = props
  return (
    <span className="choice" data-set={value === '' || any === undefined ? undefined : true}>
      <select
        aria-label={label}
        value={value}
        onChange={(event) => onChange((event.currentTarget.value || undefined) as Value | undefined)}
      >
        {any !== undefined && <option value="">{any}</option>}
        {Object.entries<string>(names).map(([each, name]) => (
          <option key={each} value={each}>
            {name}
          </option>
        ))}
      </select>
      <ChevronIcon />
    </span>
  )
}
