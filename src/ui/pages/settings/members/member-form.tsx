import { useSend } from '../../../app/act/act.ts'
import { FormDialog } from '../../../app/form/form-dialog.tsx'
import { toast } from '../../../app/toasts.tsx'
import { Field, FieldChoice } from '../../../design/field.tsx'
import { typed } from '../../../design/typed.ts'
import { NameField, useNames } from '../names.tsx'
import { UiSetMemberDocument } from '../settings.generated.ts'
import type { Member } from './member.ts'

interface Props {
  changed: Member | undefined
  /** That is looked at. */
  project: string | undefined
  onDone: () => void
  onClose: () => void
}

const FIELDS = ['user', 'project', 'role']
const CODES = { PROJECT_NOT_FOUND: 'project', USER_NOT_FOUND: 'user' }

export function MemberForm({ changed, project, onDone, onClose }: Props) {
  const send = useSend()
  const names = useNames()
  const submit = async (form: HTMLFormElement) => {
    const input = {
      user: typed(form, 'user'),
      project: typed(form, 'project'),
      role: typed(form, 'role') as 'ADMIN' | 'MEMBER' | 'VIEWER',
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
      fields={FIELDS}
      codes={CODES}
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
          <Field label="Role" fault={faults['role']} wide>
            {(control) => (
              <FieldChoice>
                <select {...control} name="role" defaultValue={changed?.membership?.role ?? 'MEMBER'}>
                  <option value="VIEWER">viewer: reads</option>
                  <option value="MEMBER">member: changes sessions, too</option>
                  <option value="ADMIN">admin: everything in the project</option>
                </select>
              </FieldChoice>
            )}
          </Field>
        </>
      )}
    </FormDialog>
  )
}
