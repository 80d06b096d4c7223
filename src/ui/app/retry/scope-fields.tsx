import { Field, FieldChoice } from '../../design/controls.tsx'
import type { Viewer } from '../viewer.ts'

export type Scope = 'CLUSTER' | 'DOMAIN' | 'PROJECT'

interface Props {
  viewer: Viewer
  scope: Scope
  onScope: (scope: Scope) => void
  /** The name of the domain or project that the field has at first. */
  name: string
  /** Once it is typed. */
  onName?: (name: string) => void
  fault: string | undefined
}

/** Where something about retries is set. A token of one project sets it there. */
export function ScopeFields({ viewer, scope, onScope, name, onName, fault }: Props) {
  return (
    <>
      <Field label="Where">
        {(control) => (
          <FieldChoice>
            <select {...control} name="scope" value={scope} onChange={(event) => onScope(event.target.value as Scope)}>
              {viewer.project === null && <option value="CLUSTER">everywhere</option>}
              {viewer.project === null && <option value="DOMAIN">in a domain</option>}
              <option value="PROJECT">in a project</option>
            </select>
          </FieldChoice>
        )}
      </Field>
      {scope === 'CLUSTER' ? (
        <span />
      ) : (
        <Field label={scope === 'DOMAIN' ? 'Domain' : 'Project'} fault={fault}>
          {(control) => (
            <input
              {...control}
              name="name"
              defaultValue={name}
              autoComplete="off"
              spellCheck={false}
              onBlur={(event) => onName?.(event.target.value.trim())}
            />
          )}
        </Field>
      )}
    </>
  )
}

/** `everywhere`, `domain physics`, `project research` */
export function scopeWords(scope: Scope, name: string | null): string {
  return scope === 'CLUSTER' ? 'everywhere' : `${scope.toLowerCase()} ${name ?? ''}`
}
