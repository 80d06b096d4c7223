import { SelectField, TextField } from '../../design/controls.tsx'
import type { Draft } from '../../policy/policy-fields.ts'

interface Props {
  draft: Draft
  faults: Readonly<Record<string, string>>
  /** The name if none is typed. */
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
    <TextField
      label={label}
      hint={hint}
      fault={faults[field]}
      type="text"
      value={draft[field] ?? ''}
      maxLength={200}
      placeholder={placeholder}
      onType={(text) => onChange(field, text)}
    />
  )
  return (
    <fieldset className="policy-section">
      <legend>When</legend>
      <div className="fields">
        {line('cron', 'Cron expression', '30 2 * * 1-5', 'minute, hour, day, month, day of week; or @daily')}
        {line('timeZone', 'Time zone', 'UTC', 'like Europe/Berlin')}
        {line('every', 'Or every', '15m', 'instead: like 90s, 15m or 2h')}
        {line('scheduleName', 'Name of the schedule', name || 'that of the program')}
        <SelectField
          label="If an earlier run goes on"
          fault={faults['overlap']}
          names={OVERLAPS}
          value={(draft['overlap'] ?? '') as keyof typeof OVERLAPS}
          onChoose={(value) => onChange('overlap', value)}
        />
        {line('catchUp', 'Missed runs made up for', '1', 'after a downtime, the last ones: 0 to 100')}
        {line('spread', 'Spread over', 'none', 'each run starts later by a part of it')}
      </div>
    </fieldset>
  )
}
