import { useState } from 'react'
import { useSend } from '../../app/act.ts'
import { FormDialog } from '../../app/form-dialog.tsx'
import { toast } from '../../app/toasts.tsx'
import { TextField } from '../../design/controls.tsx'
import { counted } from '../../words/numbers.ts'
import { type UiDeploymentRowFragment, UiScaleDeploymentDocument } from './deployments.generated.ts'

interface Props {
  deployment: UiDeploymentRowFragment
  onDone: () => void
  onClose: () => void
}

/** Asks for the number of replicas. The server checks its limits. */
export function ScaleDialog({ deployment: { deploymentId, name, replicas }, onDone, onClose }: Props) {
  const send = useSend()
  const [typed, setTyped] = useState(String(replicas))
  const wanted = /^\d+$/.test(typed.trim()) ? Number(typed) : null
  const submit = async () => {
    const { problem } = await send(UiScaleDeploymentDocument, { deploymentId, replicas: wanted! })
    if (problem) return problem
    toast('done', `${name} gets ${counted(wanted!, 'replica')}.`)
    onDone()
    return null
  }
  return (
    <FormDialog
      title={`Scale ${name}`}
      act="Scale"
      keep={`Keep ${replicas}`}
      isReady={wanted !== null && wanted !== replicas}
      fields={['replicas']}
      onSend={submit}
      onClose={onClose}
    >
      {(faults) => (
        <TextField
          label="Replicas"
          hint={`${replicas} now; 0 stops all and keeps the deployment`}
          fault={wanted === null ? 'A whole number' : faults['replicas']}
          wide
          inputMode="numeric"
          value={typed}
          onType={setTyped}
        />
      )}
    </FormDialog>
  )
}
