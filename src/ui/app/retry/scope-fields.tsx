import { SelectField, TextField } from '../../design/controls.tsx'
import type { Viewer } from '../viewer.ts'

const SCOPES = { CLUSTER: 'everywhere', DOMAIN: 'in a domain', PROJECT: 'in a project' } as const
export type Scope = keyof typeof SCOPES

interface Props {
  viewer: Viewer
  scope: Scope
  onScope: (scope: Scope) => void
  /** The name of the domain or project that the field has at first. */
  name: string
  /** Called when the name has been typed. */
  onName?: (name: string) => void
  fault: string | undefined
}

/** The fields for a scope: cluster, domain or project. A token of one project can choose only that project. */
export function ScopeFields({ viewer, scope, onScope, name, onName, fault }: Props) {
  return (
    <>
      <SelectField
        label="Where"
        name="scope"
        names={viewer.project === null ? SCOPES : { PROJECT: SCOPES.PROJECT }}
        value={scope}
        onChoose={onScope}
      />
      {scope === 'CLUSTER' ? (
        <span />
      ) : (
        <TextField
          label={scope === 'DOMAIN' ? 'Domain' : 'Project'}
          fault={fault}
          name="name"
          defaultValue={name}
          onBlur={(event) => onName?.(event.target.value.trim())}
        />
      )}
    </>
  )
}

/** `everywhere`, `domain physics`, `project research` */
export function scopeWords(scope: Scope, name: string | null): string {
  return scope === 'CLUSTER' ? 'everywhere' : `${scope.toLowerCase()} ${name ?? ''}`
}
