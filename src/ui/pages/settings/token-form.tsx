import { useState } from 'react'
import { useSend } from '../../app/act.ts'
import { FormDialog } from '../../app/form-dialog.tsx'
import { useViewer } from '../../app/viewer.ts'
import { SelectField, TextField, typed, typedMoment, typedOrNull } from '../../design/controls.tsx'
import { NameField, useNames } from './section.tsx'
import { UiCreateTokenDocument, type UiTokenFragment } from './settings.generated.ts'

type Role = UiTokenFragment['role']

const ROLES = {
  VIEWER: 'viewer: reads a project',
  MEMBER: 'member: reads and changes the sessions of a project',
  ADMIN: 'admin: everything, in a project or in all',
  AGENT: 'agent: runs kernels',
  METRICS: 'metrics: reads /metrics and service discovery',
} satisfies Record<Role, string>
/** An administrator of one project cannot make tokens for agents, which belong to all projects. */
const { AGENT: _, ...ROLES_OF_PROJECT } = ROLES

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
  return (
    <FormDialog title="New token" act="Create" fields={FIELDS} codes={CODES} onSend={submit} onClose={onClose}>
      {(faults) => (
        <>
          <TextField label="Name" hint="what it is for" fault={faults['name']} wide name="name" spellCheck />
          <SelectField
            label="Role"
            fault={faults['role']}
            wide
            names={project === null ? ROLES : ROLES_OF_PROJECT}
            value={role}
            onChoose={setRole}
          />
          {role === 'AGENT' ? (
            <NameField
              label="Resource groups"
              name="resourceGroups"
              names={names.resourceGroups}
              hint="the only ones that its agents may join; empty: any"
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
                  hint={role === 'VIEWER' || role === 'MEMBER' ? 'the only one that it sees' : 'empty: all'}
                  fault={faults['project']}
                />
              )}
              <NameField label="User" name="user" names={names.users} hint="who has it" fault={faults['user']} />
            </>
          )}
          <TextField
            label="Expires"
            hint="empty: never"
            fault={faults['expiresAt']}
            wide
            name="expiresAt"
            type="datetime-local"
          />
        </>
      )}
    </FormDialog>
  )
}
