import { useSend } from '../../app/act.ts'
import { FormDialog } from '../../app/form-dialog.tsx'
import { toast } from '../../app/toasts.tsx'
import { SelectField, TextField, typed, typedOrNull } from '../../design/controls.tsx'
import { NameField, useNames } from './section.tsx'
import {
  UiCreateDomainDocument,
  UiCreateProjectDocument,
  UiCreateUserDocument,
  type UiMembersQuery,
  UiSetMemberDocument,
} from './settings.generated.ts'

interface MemberFormProps {
  changed: Member | undefined
  /** The project that is chosen in the bar. */
  project: string | undefined
  onDone: () => void
  onClose: () => void
}

const ROLES = {
  VIEWER: 'viewer: reads',
  MEMBER: 'member: changes sessions, too',
  ADMIN: 'admin: everything in the project',
}
const MEMBER_FIELDS = ['user', 'project', 'role']
const MEMBER_CODES = { PROJECT_NOT_FOUND: 'project', USER_NOT_FOUND: 'user' }

export function MemberForm({ changed, project, onDone, onClose }: MemberFormProps) {
  const send = useSend()
  const names = useNames()
  const submit = async (form: HTMLFormElement) => {
    const input = {
      user: typed(form, 'user'),
      project: typed(form, 'project'),
      role: typed(form, 'role') as keyof typeof ROLES,
    }
    const { problem } = await send(UiSetMemberDocument, { input })
    if (problem) return problem
    toast('done', `${input.user} is ${input.role.toLowerCase()} of ${input.project}.`)
    onDone()
    return null
  }
  return (
    <FormDialog
      title={changed ? `Role of ${changed.user.name}` : 'Add a member'}
      note="Tokens of the user that may do more have these rights from now on."
      act="Set"
      fields={MEMBER_FIELDS}
      codes={MEMBER_CODES}
      onSend={submit}
      onClose={onClose}
    >
      {(faults) => (
        <>
          <NameField label="User" name="user" names={names.users} first={changed?.user.name} fault={faults['user']} />
          <NameField
            label="Project"
            name="project"
            names={names.projects}
            first={changed?.membership?.project.name ?? project}
            fault={faults['project']}
          />
          <SelectField
            label="Role"
            fault={faults['role']}
            wide
            name="role"
            names={ROLES}
            first={changed?.membership?.role ?? 'MEMBER'}
          />
        </>
      )}
    </FormDialog>
  )
}

export type Made = 'user' | 'project' | 'domain'

const NOTES: Readonly<Record<Made, string>> = {
  user: 'A person who creates sessions. Their roles in projects determine what they may do.',
  project: 'Sessions belong to a project, and tokens see one of them or all.',
  domain: 'A group of projects, which share a quota and retry defaults.',
}
const TENANT_FIELDS = ['name', 'domain']
const TENANT_CODES = { NAME_TAKEN: 'name', DOMAIN_NOT_FOUND: 'domain' }

interface TenantFormProps {
  made: Made
  onDone: () => void
  onClose: () => void
}

/** The form for a new user, project or domain. */
export function TenantForm({ made, onDone, onClose }: TenantFormProps) {
  const send = useSend()
  const { domains } = useNames()
  const create = (form: HTMLFormElement, name: string) => {
    if (made === 'user') return send(UiCreateUserDocument, { input: { name } })
    if (made === 'domain') return send(UiCreateDomainDocument, { input: { name } })
    return send(UiCreateProjectDocument, { input: { name, domain: typedOrNull(form, 'domain') } })
  }
  const submit = async (form: HTMLFormElement) => {
    const name = typed(form, 'name')
    const { problem } = await create(form, name)
    if (problem) return problem
    toast('done', `There is a ${made} ${name}.`)
    onDone()
    return null
  }
  return (
    <FormDialog
      title={`New ${made}`}
      note={NOTES[made]}
      act="Create"
      fields={TENANT_FIELDS}
      codes={TENANT_CODES}
      onSend={submit}
      onClose={onClose}
    >
      {(faults) => (
        <>
          <TextField label="Name" fault={faults['name']} wide name="name" />
          {made === 'project' && (
            <NameField
              label="Domain"
              name="domain"
              names={domains}
              hint="empty: default"
              fault={faults['domain']}
              wide
            />
          )}
        </>
      )}
    </FormDialog>
  )
}

export type User = UiMembersQuery['users']['edges'][number]['node']

/** A membership; for a user without any, only the user. */
export interface Member {
  id: string
  user: User
  membership: User['memberships'][number] | undefined
}
