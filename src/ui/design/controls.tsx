import { type ComponentProps, type ReactNode, useId } from 'react'
import { ChevronIcon } from './icons.tsx'
import './controls.css'

type Kind = 'plain' | 'primary' | 'danger' | 'quiet'

/** A button. With `icon` it shows only an icon, and needs an `aria-label`. */
export function Button({
  kind = 'plain',
  icon = false,
  className,
  ...rest
}: ComponentProps<'button'> & { kind?: Kind; icon?: boolean }) {
  const classes = ['button', kind !== 'plain' && kind, icon && 'icon', className].filter(Boolean).join(' ')
  // oxlint-disable-next-line react/button-has-type -- `rest` has another type
  return <button type="button" {...rest} className={classes} />
}

/** A key of the keyboard, or several: `g c`. */
export function Keys({ keys }: { keys: string }) {
  return (
    <span aria-hidden="true">
      {keys.split(' ').map((key) => (
        <kbd key={key} className="key">
          {key}
        </kbd>
      ))}
    </span>
  )
}

/** A select without a visible label: one of several values, or `any`. */
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

/** The attributes of a field's control. */
interface Control {
  id: string
  'aria-invalid': true | undefined
  'aria-describedby': string | undefined
}

interface Labelled {
  label: string
  /** The fault of the typed text; replaces the hint. */
  fault?: string | undefined
  hint?: string | undefined
  /** Takes the whole width of `.fields`. */
  wide?: boolean
}

/** A label, a control, and below it a hint or the fault. Within `.fields` they are in columns. */
export function Field(props: Labelled & { children: (control: Control) => ReactNode }) {
  const { label, fault, hint, wide = false, children } = props
  const id = useId()
  const note = fault ?? hint
  return (
    <div className="field" data-wide={wide || undefined} data-wrong={fault !== undefined || undefined}>
      <label htmlFor={id}>{label}</label>
      {children({
        id,
        'aria-invalid': fault !== undefined || undefined,
        'aria-describedby': note === undefined ? undefined : `${id}-note`,
      })}
      {note !== undefined && (
        <span className="field-note" id={`${id}-note`} role={fault === undefined ? undefined : 'alert'}>
          {note}
        </span>
      )}
    </div>
  )
}

/** A field of one line of text; `onType` gets each change. */
export function TextField({
  label,
  fault,
  hint,
  wide,
  onType,
  ...input
}: Labelled & Omit<ComponentProps<'input'>, 'onChange'> & { onType?: (text: string) => void }) {
  return (
    <Field {...{ label, fault, hint, wide }}>
      {(control) => (
        <input
          autoComplete="off"
          spellCheck={false}
          {...control}
          {...input}
          onChange={onType && ((event) => onType(event.target.value))}
        />
      )}
    </Field>
  )
}

/** A field of several lines of text. */
export function LinesField({
  label,
  fault,
  hint,
  wide,
  onType,
  ...area
}: Labelled & Omit<ComponentProps<'textarea'>, 'onChange'> & { onType: (text: string) => void }) {
  return (
    <Field {...{ label, fault, hint, wide }}>
      {(control) => (
        <textarea
          autoComplete="off"
          spellCheck={false}
          {...control}
          {...area}
          onChange={(event) => onType(event.target.value)}
        />
      )}
    </Field>
  )
}

interface SelectFieldProps<Value extends string> extends Labelled {
  /** The text of each value; or an array of the values themselves, where an empty one shows as `none`. */
  names: Readonly<Partial<Record<Value, string>>> | readonly Value[]
  /** The name in the form. */
  name?: string
  /** The value that is selected at first, where `onChoose` is missing. */
  first?: Value
  value?: Value
  onChoose?: (value: Value) => void
}

/** A field with a choice. */
export function SelectField<Value extends string>(props: SelectFieldProps<Value>) {
  const { label, fault, hint, wide, names, name, first, value, onChoose } = props
  const options: [string, string][] = Array.isArray(names)
    ? names.map((each: Value) => [each, each || 'none'])
    : Object.entries(names as Record<Value, string>)
  return (
    <Field {...{ label, fault, hint, wide }}>
      {(control) => (
        <span className="field-choice">
          <select
            {...control}
            name={name}
            defaultValue={first}
            value={value}
            onChange={onChoose && ((event) => onChoose(event.target.value as Value))}
          >
            {options.map(([each, words]) => (
              <option key={each} value={each}>
                {words}
              </option>
            ))}
          </select>
          <ChevronIcon />
        </span>
      )}
    </Field>
  )
}

/** The value of a text field of a form. */
export function typed(form: HTMLFormElement, name: string): string {
  const value = new FormData(form).get(name)
  return typeof value === 'string' ? value.trim() : ''
}

/** The same; null where the field is empty. */
export function typedOrNull(form: HTMLFormElement, name: string): string | null {
  return typed(form, name) || null
}

/**
 * A number, or null where the field is empty. A text that is not a number is returned unchanged, so that the server
 * reports it.
 */
export function typedNumber(form: HTMLFormElement, name: string): number | null {
  const text = typed(form, name)
  const number = Number(text)
  return text === '' ? null : Number.isNaN(number) ? (text as unknown as number) : number
}

/** The value of a field of date and time, read in the browser's zone; null where it is empty. */
export function typedMoment(form: HTMLFormElement, name: string): string | null {
  const at = Date.parse(typed(form, name))
  return Number.isNaN(at) ? null : new Date(at).toISOString()
}
