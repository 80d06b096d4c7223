import { useId } from 'react'
import { useQuery } from 'urql'
import { Field } from '../../design/field.tsx'
import { UiNamesDocument } from './settings.generated.ts'

/** Names that there are, as far as the viewer sees them: proposed while one is typed. */
export function useNames() {
  const [{ data }] = useQuery({ query: UiNamesDocument, requestPolicy: 'cache-and-network' })
  const namesOf = (edges: readonly { node: { name: string } }[] = []) => edges.map(({ node }) => node.name)
  return {
    projects: namesOf(data?.projects.edges),
    users: namesOf(data?.users.edges),
    domains: namesOf(data?.domains.edges),
    resourceGroups: (data?.resourceGroups ?? []).map(({ name }) => name),
    /** By its id. */
    projectNames: new Map(data?.projects.edges.map(({ node }) => [node.projectId, node.name])),
  }
}

interface Props {
  label: string
  name: string
  names: readonly string[]
  first?: string | undefined
  hint?: string
  fault: string | undefined
  wide?: boolean
}

/** A name that is typed, with those that there are. */
export function NameField({ label, name, names, first = '', hint, fault, wide = false }: Props) {
  const list = useId()
  return (
    <Field label={label} hint={hint} fault={fault} wide={wide}>
      {(control) => (
        <>
          <input {...control} name={name} defaultValue={first} list={list} autoComplete="off" spellCheck={false} />
          <datalist id={list}>
            {names.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </datalist>
        </>
      )}
    </Field>
  )
}
