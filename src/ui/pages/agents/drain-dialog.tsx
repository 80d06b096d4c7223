import { Button, TextField, typed } from '../../design/controls.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { counted } from '../../words/numbers.ts'

const REASON_LENGTH_MAX = 200

/** Asks for the reason, which is shown beside the agent. */
export function DrainDialog(props: {
  name: string
  kernels: number
  isBusy: boolean
  onDrain: (reason: string | null) => void
  onClose: () => void
}) {
  const { name, kernels, isBusy, onDrain, onClose } = props
  return (
    <Dialog title={`Drain ${name}?`} onClose={onClose}>
      <form
        className="dialog-form"
        onSubmit={(event) => {
          event.preventDefault()
          onDrain(typed(event.currentTarget, 'reason') || null)
        }}
      >
        <p className="dialog-note">
          It gets no new work until it is resumed, also after a restart.
          {kernels > 0 && ` Its kernels continue: ${counted(kernels, 'kernel')}.`}
        </p>
        <TextField
          label="Reason"
          hint="Shown beside the agent"
          name="reason"
          spellCheck
          maxLength={REASON_LENGTH_MAX}
        />
        <div className="dialog-buttons">
          <Button onClick={onClose}>Keep it</Button>
          <Button kind="primary" type="submit" disabled={isBusy}>
            Drain the agent
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
