import { Field } from '../design/field.tsx'
import { FreshCheckpoint } from './fresh-checkpoint.tsx'
import type { Changed } from './overrides.ts'

interface Props {
  /** As it was typed; what is empty stays as each of them has it. */
  draft: Changed
  faults: Readonly<Record<string, string>>
  onChange: (name: string, text: string) => void
}

/** Which field what the server says about a place of the input belongs to. */
export const OVERRIDE_PLACES: Readonly<Record<string, string>> = {
  'overrides.resourceSlots': 'slots',
  'overrides.environ': 'environ',
  'overrides.retryPolicy.maxRetries': 'maxRetries',
  'overrides.retryPolicy.retryDelay': 'retryDelay',
  'overrides.batchTimeout': 'batchTimeout',
  'overrides.priority': 'priority',
  'overrides.resourceGroup': 'resourceGroup',
}

const LINES: readonly (readonly [name: string, label: string, hint: string])[] = [
  ['slots', 'resources', 'like cpu=2, mem=8g; 0 removes one'],
  ['environ', 'environment', 'name=value, one a line'],
]
const FIELDS: readonly (readonly [name: string, label: string])[] = [
  ['maxRetries', 'retries'],
  ['retryDelay', 'first delay, seconds'],
  ['batchTimeout', 'timeout, seconds'],
  ['priority', 'priority'],
  ['resourceGroup', 'resource group'],
]

/** What a resubmission of many changes for all of them. */
export function OverrideFields({ draft, faults, onChange }: Props) {
  const shared = (name: string) => ({
    value: draft[name] ?? '',
    placeholder: 'as each has it',
    autoComplete: 'off',
    spellCheck: false,
    onChange: ({ target }: { target: { value: string } }) => onChange(name, target.value),
  })
  return (
    <div className="fields">
      {LINES.map(([name, label, hint]) => (
        <Field key={name} label={label} hint={hint} fault={faults[name]} wide>
          {(control) => <textarea {...control} {...shared(name)} rows={name === 'slots' ? 1 : 2} />}
        </Field>
      ))}
      {FIELDS.map(([name, label]) => (
        <Field key={name} label={label} fault={faults[name]}>
          {(control) => <input {...control} {...shared(name)} type="text" />}
        </Field>
      ))}
      <FreshCheckpoint
        isFresh={(draft['freshCheckpoint'] ?? '') !== ''}
        onChange={(isFresh) => onChange('freshCheckpoint', isFresh ? 'true' : '')}
      />
    </div>
  )
}

/** What was typed, one by one, and what of it cannot be read. */
export function readOverrides(draft: Changed): { changed: Changed; faults: Record<string, string> } {
  const changed: Record<string, string> = {}
  const faults: Record<string, string> = {}
  const pairs = (name: string, prefix: string, separator: RegExp) => {
    for (const pair of (draft[name] ?? '').split(separator)) {
      const at = pair.indexOf('=')
      if (pair.trim() === '') continue
      if (at <= 0) faults[name] ??= `${pair.trim()} is not name=value.`
      else changed[`${prefix}.${pair.slice(0, at).trim()}`] = pair.slice(at + 1)
    }
  }
  pairs('slots', 'slot', /[\n,]/)
  pairs('environ', 'env', /\n/)
  for (const [name] of FIELDS) {
    const text = draft[name]?.trim() ?? ''
    if (text === '') continue
    changed[name] = text
    if (name !== 'resourceGroup' && Number.isNaN(Number(text))) faults[name] = 'It is not a number.'
  }
  if (draft['freshCheckpoint']) changed['freshCheckpoint'] = 'true'
  return { changed, faults }
}
