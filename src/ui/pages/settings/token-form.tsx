import { useState } from 'react'
import { useSend } from '../../app/act.ts'
import { FormDialog } from '../../app/form-dialog.tsx'
import { useViewer } from '../../app/viewer.ts'
import { Field, FieldChoice, typed, typedMoment, typedOrNull } from '../../design/controls.tsx'
import { NameField, useNames } from './section.tsx'
import { UiCreateTokenDocument, type UiTokenFragment } from './settings.generated.ts'

type Role = UiTokenFragment['role']

const ROLES: Readonly<Record<Role, string>> = {
  VIEWER: 'viewer: reads a project',
  MEMBER: 'member: reads and changes the sessions of a project',
  ADMIN: 'admin: everything, in a project or in all',
  AGENT: 'agent: runs kernels',
  METRICS: 'metrics: reads /metrics and service discovery',
}
/** An administrator of one project makes none for what belongs to all. */
const OF_A_PROJECT: readonly Role[] = ['VIEWER', 'MEMBER', 'ADMIN', 'METRICS']

const FIELDS = ['name', 'role', 'project', 'user', 'expiresAt', 'resourceGroups']
const CODES = { PROJECT_NOT_FOUND: 'project', USER_NOT_FOUND: 'user' }

interface Props {
  onDone: (name: string, secret: string) => void
  onClose: () => void
}

export function TokenForm({ onDone, onClose }: Props) {
  const { project } = useViewer()
  const send = useSend()
  const names = useNames()
  const [role, setRole] = useState<Role>('VIEWER')
  const submit = async (form: HTMLFormElement) => {
    const groups = typed(form, 'resourceGroups')
    const input = {
      name: typed(form, 'name'),
      role,
      project: project?.name ?? typedOrNull(form, 'project'),
      user: typedOrNull(form, 'user'),
      expiresAt: typedMoment(form, 'expiresAt'),
      ...(groups !== '' && { resourceGroups: groups.split(/[\s,]+/).filter((each) => each !== '') }),
    }
    const { done, problem } = await send(UiCreateTokenDocument, { input })
    if (problem) return problem
    onDone(done.token.name, done.secret)
    return null
  }
  const roles = project === null ? (Object.keys(ROLES) as Role[]) : OF_A_PROJECT
  return (
    <FormDialog title="New token" act="Create" fields={FIELDS} codes={CODES} onSend={submit} onClose={onClose}>
      {(faults) => (
        <>
          <Field label="Name" hint="what it is for" fault={faults['name']} wide>
            {(control) => <input {...control} name="name" autoComplete="off" />}
          </Field>
          <Field label="Role" fault={faults['role']} wide>
            {(control) => (
              <FieldChoice>
                <select {...control} value={role} onChange={(event) => setRole(event.target.value as Role)}>
                  {roles.map((each) => (
                    <option key={each} value={each}>
                      {ROLES[each]}
                    </option>
                  ))}
                </select>
              </FieldChoice>
            )}
          </Field>
          {role === 'AGENT' ? (
            <NameField
              label="Resource groups"
              name="resourceGroups"
              names={names.resourceGroups}
              hint="the only ones that its agents may join; nothing: any"
              fault={faults['resourceGroups']}
              wide
            />
          ) : (
            <>
              {project === null && (
                <NameField
                  label="Project"
                  name="project"
                  names={names.projects}
                  hint={role === 'VIEWER' || role === 'MEMBER' ? 'the only one that it sees' : 'nothing: all'}
                  fault={faults['project']}
                />
              )}
              <NameField label="User" name="user" names={names.users} hint="who has it" fault={faults['user']} />
            </>
          )}
          <Field label="Expires" hint="nothing: never" fault={faults['expiresAt']} wide>
            {(control) => <input {...control} name="expiresAt" type="datetime-local" />}
          </Field>
        </>
      )}
    </FormDialog>
  )
}
