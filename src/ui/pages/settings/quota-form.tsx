import { useState } from 'react'
import { useSend } from '../../app/act.ts'
import { FormDialog } from '../../app/form-dialog.tsx'
import { toast } from '../../app/toasts.tsx'
import { SelectField, TextField, typed, typedNumber } from '../../design/controls.tsx'
import { readSlots, slotWords } from '../../words/numbers.ts'
import { NameField, useNames } from './section.tsx'
import { type UiQuotaFragment, UiSetQuotaDocument } from './settings.generated.ts'

interface Props {
  changed: UiQuotaFragment | undefined
  onDone: () => void
  onClose: () => void
}

const SCOPES = { USER: 'user', PROJECT: 'project', DOMAIN: 'domain' } as const
const FIELDS = ['name', 'maxRunning', 'maxPending', 'maxCheckpointBytes', 'maxOutputBytes', 'slots']
const CODES = { USER_NOT_FOUND: 'name', PROJECT_NOT_FOUND: 'name', DOMAIN_NOT_FOUND: 'name' }

export function QuotaForm({ changed, onDone, onClose }: Props) {
  const send = useSend()
  const names = useNames()
  const [scope, setScope] = useState<UiQuotaFragment['scope']>(changed?.scope ?? 'PROJECT')
  const submit = async (form: HTMLFormElement) => {
    const name = changed?.name ?? typed(form, 'name')
    const slots = readSlots(typed(form, 'slots'))
    const input = {
      scope,
      name,
      maxRunning: typedNumber(form, 'maxRunning'),
      maxPending: typedNumber(form, 'maxPending'),
      maxCheckpointBytes: typed(form, 'maxCheckpointBytes') || null,
      maxOutputBytes: typed(form, 'maxOutputBytes') || null,
      slots: slots.length === 0 ? null : slots,
    }
    const { problem } = await send(UiSetQuotaDocument, { input })
    if (problem) return problem
    toast('done', `The quota of ${name} is set.`)
    onDone()
    return null
  }
  const known = { USER: names.users, PROJECT: names.projects, DOMAIN: names.domains }[scope]
  return (
    <FormDialog
      title={changed ? `Quota of ${changed.scope.toLowerCase()} ${changed.name}` : 'Set a quota'}
      note="An empty field is no limit. Existing sessions stay, even above the limit."
      act="Set"
      fields={FIELDS}
      codes={CODES}
      onSend={submit}
      onClose={onClose}
    >
      {(faults) => (
        <>
          {!changed && (
            <>
              <SelectField label="Of a" names={SCOPES} value={scope} onChoose={setScope} />
              <NameField label="Name" name="name" names={known} fault={faults['name']} />
            </>
          )}
          <TextField
            label="Sessions running"
            hint="placed at once"
            fault={faults['maxRunning']}
            name="maxRunning"
            inputMode="numeric"
            defaultValue={changed?.maxRunning ?? ''}
          />
          <TextField
            label="Sessions pending"
            hint="waiting for a place"
            fault={faults['maxPending']}
            name="maxPending"
            inputMode="numeric"
            defaultValue={changed?.maxPending ?? ''}
          />
          <TextField
            label="Checkpoints"
            hint="like 500g"
            fault={faults['maxCheckpointBytes']}
            name="maxCheckpointBytes"
            defaultValue={
              changed?.maxCheckpointBytes == null ? '' : slotWords('mem', String(changed.maxCheckpointBytes))
            }
          />
          <TextField
            label="Outputs"
            hint="like 500g"
            fault={faults['maxOutputBytes']}
            name="maxOutputBytes"
            defaultValue={changed?.maxOutputBytes == null ? '' : slotWords('mem', String(changed.maxOutputBytes))}
          />
          <TextField
            label="Slots"
            hint="like cpu 8, mem 64g"
            fault={faults['slots']}
            wide
            name="slots"
            defaultValue={changed?.slots.map(({ slot, amount }) => `${slot} ${slotWords(slot, amount)}`).join(', ')}
          />
        </>
      )}
    </FormDialog>
  )
}
