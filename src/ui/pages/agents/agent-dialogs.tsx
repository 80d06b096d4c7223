import { useSend } from '../../app/act.ts'
import { FormDialog } from '../../app/form-dialog.tsx'
import { toast } from '../../app/toasts.tsx'
import { TextField, typedOrNull } from '../../design/controls.tsx'
import { counted } from '../../words/numbers.ts'
import type { Agent } from './agent-parts.tsx'
import {
  type UiAgentRowFragment,
  UiDrainAgentDocument,
  UiReturnGpuDocument,
  UiTakeGpuDocument,
} from './agents.generated.ts'

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

interface GpuDialogProps {
  agent: Agent
  gpu: Agent['gpus'][number]
  onDone: () => void
  onClose: () => void
}

/** Asks for the reason, and takes a GPU out of service, or puts it back. */
export function GpuDialog({
  agent: { agentId, name },
  gpu: { uuid, index, fault, inUse },
  onDone,
  onClose,
}: GpuDialogProps) {
  const send = useSend()
  const isOut = fault !== null
  const submit = async (form: HTMLFormElement) => {
    const input = { agentId, uuid, reason: typedOrNull(form, 'reason') }
    const { problem } = isOut ? await send(UiReturnGpuDocument, input) : await send(UiTakeGpuDocument, input)
    if (problem) return problem
    toast('done', `GPU ${index} of ${name} ${isOut ? 'returns to service' : 'goes out of service'}.`)
    onDone()
    return null
  }
  return (
    <FormDialog
      title={isOut ? `Return GPU ${index} of ${name}?` : `Take GPU ${index} of ${name} out of service?`}
      note={isOut ? RETURN_NOTE : `${TAKE_NOTE}${inUse ? ' Its session runs on.' : ''}`}
      act={isOut ? 'Return the GPU' : 'Take it out'}
      keep="Leave it"
      fields={['reason']}
      onSend={submit}
      onClose={onClose}
    >
      {(faults) => (
        <TextField
          label="Reason"
          hint={isOut ? 'Stored in the audit log' : 'Shown beside the GPU'}
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

const TAKE_NOTE = 'No new session gets it until it is returned, also after a restart.'
const RETURN_NOTE = 'Sessions get it again. If it is still broken, its agent takes it out once more.'
