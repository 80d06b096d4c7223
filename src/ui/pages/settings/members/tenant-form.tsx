import { useSend } from '../../../app/act/act.ts'
import { FormDialog } from '../../../app/form/form-dialog.tsx'
import { toast } from '../../../app/toasts.tsx'
import { Field } from '../../../design/field.tsx'
import { typed, typedOrNull } from '../../../design/typed.ts'
import { NameField, useNames } from '../names.tsx'
import { UiCreateDomainDocument, UiCreateProjectDocument, UiCreateUserDocument } from '../settings.generated.ts'

export type Made = 'user' | 'project' | 'domain'

const NOTES: Readonly<Record<Made, string>> = {
  user: 'Somebody who creates sessions. What they may do, their roles in projects say.',
  project: 'Sessions belong to a project, and tokens see one of them or all.',
  domain: 'A group of projects, which share a quota and retry defaults.',
}
const FIELDS = ['name', 'domain']
const CODES = { NAME_TAKEN: 'name', DOMAIN_NOT_FOUND: 'domain' }

interface Props {
  made: Made
  onDone: () => void
  onClose: () => void
}

/** A name, unique among its kind. */
export function TenantForm({ made, onDone, onClose }: Props) {
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
      fields={FIELDS}
      codes={CODES}
      onSend={submit}
      onClose={onClose}
    >
      {(faults) => (
        <>
          <Field label="Name" fault={faults['name']} wide>
            {(control) => <input {...control} name="name" autoComplete="off" spellCheck={false} />}
          </Field>
          {made === 'project' && (
            <NameField
              label="Domain"
              name="domain"
              names={domains}
              hint="nothing: default"
              fault={faults['domain']}
              wide
            />
          )}
        </>
      )}
    </FormDialog>
  )
}
