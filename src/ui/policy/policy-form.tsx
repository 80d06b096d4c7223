import { LinesField, SelectField, TextField } from '../design/controls.tsx'
import { ChevronIcon } from '../design/icons.tsx'
import { CAUSES, type Draft, type Field as PolicyField, type Section } from './policy-fields.ts'
import './policy.css'

interface Props {
  sections: readonly Section[]
  /** Sections from this one on are folded, unless one of their fields is filled. */
  foldedFrom: number
  draft: Draft
  faults: Readonly<Record<string, string>>
  onChange: (name: string, text: string) => void
}

/** The fields of a policy, within a form. */
export function PolicyInputs({ sections, foldedFrom, draft, faults, onChange }: Props) {
  return (
    <>
      {sections.map(([title, fields], index) => {
        const inputs = fields.map((field) => (
          <Input
            key={field.name}
            field={withStandard(field, draft)}
            text={draft[field.name] ?? ''}
            fault={faults[field.name]}
            onChange={(text) => onChange(field.name, text)}
          />
        ))
        if (index < foldedFrom)
          return (
            <fieldset key={title} className="policy-section">
              <legend>{title}</legend>
              <div className="fields">{inputs}</div>
            </fieldset>
          )
        return (
          <details key={title} className="policy-section" open={fields.some(({ name }) => draft[name]) || undefined}>
            <summary>
              {title}
              <ChevronIcon />
            </summary>
            <div className="fields">{inputs}</div>
          </details>
        )
      })}
    </>
  )
}

/** A table of delays has other defaults: as many retries as entries, and no jitter. */
function withStandard(field: PolicyField, { delays = '' }: Draft): PolicyField {
  if (delays.trim() === '' || delays.trim() === 'none') return field
  if (field.path === 'maxRetries') return { ...field, standard: String(delays.split(',').length) }
  return field.path === 'jitter' ? { ...field, standard: 'none' } : field
}

interface InputProps {
  field: PolicyField
  text: string
  fault: string | undefined
  onChange: (text: string) => void
}

function Input({ field, text, fault, onChange }: InputProps) {
  const { kind, label, hint, standard, choices } = field
  if (kind === 'causes') return <Causes {...{ field, text, fault, onChange }} />
  if (kind === 'switch')
    return (
      <label className="field-switch">
        <input
          type="checkbox"
          checked={text !== ''}
          onChange={(event) => onChange(event.target.checked ? 'true' : '')}
        />
        <span>{label}</span>
      </label>
    )
  if (kind === 'choice') {
    const others = Object.entries(choices!).filter(([word]) => word !== standard || text === standard)
    const names = { '': standard === undefined ? 'any' : choices![standard]!, ...Object.fromEntries(others) }
    return <SelectField label={label} hint={hint} fault={fault} names={names} value={text} onChoose={onChange} />
  }
  const shared = { label, hint, fault, value: text, onType: onChange }
  if (kind === 'rules') return <LinesField {...shared} wide rows={4} />
  return (
    <TextField
      {...shared}
      wide={kind === 'growth' || kind === 'durations'}
      type="text"
      inputMode={kind === 'count' ? 'numeric' : kind === 'decimal' ? 'decimal' : 'text'}
      placeholder={standard}
      maxLength={kind === 'durations' ? 1_000 : 200}
    />
  )
}

/** The causes that are retried: all, unless some are turned off. */
function Causes({ field, text, fault, onChange }: InputProps) {
  const all = Object.keys(CAUSES)
  const chosen = text === '' ? all : text.split(',').filter((cause) => all.includes(cause))
  const toggle = (cause: string) => {
    const next = all.filter((each) => (each === cause ? !chosen.includes(each) : chosen.includes(each)))
    onChange(next.length === all.length ? '' : next.join(',') || 'none')
  }
  return (
    <div className="field" data-wide role="group" aria-label={field.label}>
      <span className="field-label">{field.label}</span>
      <div className="policy-causes">
        {Object.entries(CAUSES).map(([cause, name]) => (
          <button
            key={cause}
            type="button"
            className="policy-cause"
            aria-pressed={chosen.includes(cause)}
            onClick={() => toggle(cause)}
          >
            {name}
          </button>
        ))}
      </div>
      {fault !== undefined && (
        <span className="field-note" role="alert">
          {fault}
        </span>
      )}
    </div>
  )
}
