import { useId, type ReactNode } from 'react'
import { ChevronIcon } from './icons.tsx'
import './controls.css'

/** For the element that is filled in. */
interface Control {
  id: string
  'aria-invalid': true | undefined
  'aria-describedby': string | undefined
}

interface Props {
  label: string
  /** What is wrong with what was typed, in the place of the hint. */
  fault?: string | undefined
  hint?: string | undefined
  /** Takes the whole width of `.fields`. */
  wide?: boolean
  children: (control: Control) => ReactNode
}

/** A label, what is filled in, and below it what helps or what is wrong. Within `.fields` they stand in columns. */
export function Field({ label, fault, hint, wide = false, children }: Props) {
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

/** Around a `select` in a field: draws its arrow. */
export function FieldChoice({ children }: { children: ReactNode }) {
  return (
    <span className="field-choice">
      {children}
      <ChevronIcon />
    </span>
  )
}
