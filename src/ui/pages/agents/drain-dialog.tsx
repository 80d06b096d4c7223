import { useSend } from '../../app/act.ts'
import { FormDialog } from '../../app/form-dialog.tsx'
import { toast } from '../../app/toasts.tsx'
import { TextField, typedOrNull } from '../../design/controls.tsx'
import { counted } from '../../words/numbers.ts'
import { type UiAgentRowFragment, UiDrainAgentDocument } from './agents.generated.ts'

interface Props {
  agent: UiAgentRowFragment
  onDone: () => void
  onClose: () => void
}

/** Asks for the reason, which is shown beside the agent. */
export function DrainDialog({ agent: { agentId, name, kernels }, onDone, onClose }: Props) {
  const send = useSend()
  const submit = async (form: HTMLFormElement) => {
    const { problem } = await send(UiDrainAgentDocument, { agentId, reason: typedOrNull(form, 'reason') })
    if (problem) return problem
    toast('done', `${name} gets no new work any more.`)
    onDone()
    return null
  }
  return (
    <FormDialog
      title={`Drain ${name}?`}
      note={
        <>
          It gets no new work until it is resumed, also after a restart.
          {kernels.totalCount > 0 && ` Its kernels continue: ${counted(kernels.totalCount, 'kernel')}.`}
        </>
      }
      act="Drain the agent"
      keep="Keep it"
      fields={['reason']}
      onSend={submit}
      onClose={onClose}
    >
      {(faults) => (
        <TextField
          label="Reason"
          hint="Shown beside the agent"
          fault={faults['reason']}
          wide
          name="reason"
          spellCheck
          maxLength={1000}
        />
      )}
    </FormDialog>
  )
}
