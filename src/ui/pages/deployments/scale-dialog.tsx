import { useState } from 'react'
import { Button, TextField } from '../../design/controls.tsx'
import { Dialog } from '../../design/dialog.tsx'

/** Asks for the number of replicas. The server checks its limits. */
export function ScaleDialog(props: {
  name: string
  replicas: number
  isBusy: boolean
  onScale: (replicas: number) => void
  onClose: () => void
}) {
  const { name, replicas, isBusy, onScale, onClose } = props
  const [typed, setTyped] = useState(String(replicas))
  const wanted = /^\d+$/.test(typed.trim()) ? Number(typed) : null
  return (
    <Dialog title={`Scale ${name}`} onClose={onClose}>
      <form
        className="dialog-form"
        onSubmit={(event) => {
          event.preventDefault()
          if (wanted !== null) onScale(wanted)
        }}
      >
        <TextField
          label="Replicas"
          hint={`${replicas} now; 0 stops all and keeps the deployment`}
          fault={wanted === null ? 'A whole number' : undefined}
          inputMode="numeric"
          value={typed}
          onType={setTyped}
        />
        <div className="dialog-buttons">
          <Button onClick={onClose}>Keep {replicas}</Button>
          <Button kind="primary" type="submit" disabled={isBusy || wanted === null || wanted === replicas}>
            Scale
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
