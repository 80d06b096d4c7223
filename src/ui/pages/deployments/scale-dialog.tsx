import { useState } from 'react'
import { Button, Field } from '../../design/controls.tsx'
import { Dialog } from '../../design/dialog.tsx'

/** Asks for the number of replicas. What the server bounds, it refuses itself. */
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
        <Field
          label="Replicas"
          hint={`${replicas} now; 0 stops all and keeps the deployment`}
          fault={wanted === null ? 'A whole number' : undefined}
        >
          {(control) => (
            <input
              {...control}
              inputMode="numeric"
              autoComplete="off"
              value={typed}
              onChange={(event) => setTyped(event.target.value)}
            />
          )}
        </Field>
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
