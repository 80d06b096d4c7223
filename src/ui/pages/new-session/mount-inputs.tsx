import { Field, FieldChoice } from '../../design/field.tsx'
import type { Draft } from '../../policy/policy-fields.ts'
import { mountField, mountRows, usualPath } from './mount-draft.ts'

export interface KnownVolume {
  name: string
  readOnly: boolean
}

interface Props {
  draft: Draft
  faults: Readonly<Record<string, string>>
  volumes: readonly KnownVolume[]
  onChange: (name: string, text: string) => void
}

/** Which volumes it has, and where. */
export function MountInputs({ draft, faults, volumes, onChange }: Props) {
  const rows = mountRows(draft)
  if (volumes.length === 0 && rows === 1) return null
  return (
    <details className="new-session-more" open={rows > 1 || undefined}>
      <summary>Volumes</summary>
      <p className="new-session-hint">It goes to agents that have all of them. For sessions in containers.</p>
      <div className="fields">
        {Array.from({ length: rows }, (_, index) => (
          <Mount key={index} index={index} draft={draft} faults={faults} volumes={volumes} onChange={onChange} />
        ))}
      </div>
    </details>
  )
}

function Mount({ index, draft, faults, volumes, onChange }: Props & { index: number }) {
  const number = index === 0 ? '' : ` ${index + 1}`
  const [volume, path, readOnly] = (['volume', 'path', 'readOnly'] as const).map((part) => mountField(index, part))
  const chosen = draft[volume!] ?? ''
  const isFixed = volumes.find(({ name }) => name === chosen)?.readOnly ?? false
  const choose = (name: string) => {
    onChange(volume!, name)
    // The rows end with the last one that is begun.
    if (name === '') onChange(path!, '')
    const may = volumes.find((each) => each.name === name)
    onChange(readOnly!, name !== '' && (may?.readOnly || draft[readOnly!]) ? 'true' : '')
  }
  return (
    <>
      <Field label={`Volume${number}`} fault={faults[volume!]}>
        {(control) => (
          <FieldChoice>
            <select {...control} value={chosen} onChange={({ target }) => choose(target.value)}>
              {[...new Set(['', chosen, ...volumes.map(({ name }) => name)])].map((name) => (
                <option key={name} value={name}>
                  {name === '' ? 'none' : name}
                </option>
              ))}
            </select>
          </FieldChoice>
        )}
      </Field>
      <Field label={`Where${number}`} fault={faults[path!]}>
        {(control) => (
          <input
            {...control}
            type="text"
            value={draft[path!] ?? ''}
            disabled={chosen === ''}
            maxLength={512}
            placeholder={chosen === '' ? '/mnt/data' : usualPath(chosen)}
            autoComplete="off"
            spellCheck={false}
            onChange={({ target }) => onChange(path!, target.value)}
          />
        )}
      </Field>
      {chosen !== '' && (
        <label className="field-switch">
          <input
            type="checkbox"
            checked={draft[readOnly!] !== undefined}
            disabled={isFixed}
            onChange={({ target }) => onChange(readOnly!, target.checked ? 'true' : '')}
          />
          <span>
            Read only{number}
            {isFixed && ': no agent lets sessions change it'}
          </span>
        </label>
      )}
    </>
  )
}
