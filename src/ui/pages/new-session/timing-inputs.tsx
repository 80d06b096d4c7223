import { Field, FieldChoice } from '../../design/controls.tsx'
import type { Draft } from '../../policy/policy-fields.ts'

interface Props {
  draft: Draft
  faults: Readonly<Record<string, string>>
  /** What it is called if no name is typed. */
  name: string
  onChange: (name: string, text: string) => void
}

const OVERLAPS = {
  '': 'the later one is skipped',
  QUEUE: 'the later one waits',
  CANCEL_OTHER: 'the earlier one is ended',
}

/** The fields for when a schedule runs. */
export function TimingInputs({ draft, faults, name, onChange }: Props) {
  const line = (field: string, label: string, placeholder: string, hint?: string) => (
    <Field label={label} hint={hint} fault={faults[field]}>
      {(control) => (
        <input
          {...control}
          type="text"
          value={draft[field] ?? ''}
          maxLength={200}
          placeholder={placeholder}
          autoComplete="off"
          spellCheck={false}
          onChange={({ target }) => onChange(field, target.value)}
        />
      )}
    </Field>
  )
  return (
    <fieldset className="policy-section">
      <legend>When</legend>
      <div className="fields">
        {line('cron', 'Cron expression', '30 2 * * 1-5', 'minute, hour, day, month, day of week; or @daily')}
        {line('timeZone', 'Time zone', 'UTC', 'like Europe/Berlin')}
        {line('every', 'Or every', '15m', 'instead: like 90s, 15m or 2h')}
        {line('scheduleName', 'Name of the schedule', name || 'that of the program')}
        <Field label="If an earlier run goes on" fault={faults['overlap']}>
          {(control) => (
            <FieldChoice>
              <select
                {...control}
                value={draft['overlap'] ?? ''}
                onChange={({ target }) => onChange('overlap', target.value)}
              >
                {Object.entries(OVERLAPS).map(([value, words]) => (
                  <option key={value} value={value}>
                    {words}
                  </option>
                ))}
              </select>
            </FieldChoice>
          )}
        </Field>
        {line('catchUp', 'Missed runs made up for', '1', 'after a downtime, the last ones: 0 to 100')}
        {line('spread', 'Spread over', 'none', 'each run starts later by a part of it')}
      </div>
    </fieldset>
  )
}
