import { type ReactNode, useId, useState } from 'react'
import { Button, TextField } from '../design/controls.tsx'
import { Dialog } from '../design/dialog.tsx'

interface ConfirmProps extends ConfirmFormProps {
  /** A question with the number of things: `Terminate 1 chain?` */
  title: string
}

/** Asks before an action that cannot be undone. Load it lazily: the dialog brings a library along. */
export function Confirm({ title, ...form }: ConfirmProps) {
  return (
    <Dialog title={title} onClose={form.onClose}>
      <ConfirmForm {...form} />
    </Dialog>
  )
}

interface ConfirmFormProps {
  /** The consequences, in words. */
  children: ReactNode
  /** The text of the button: `Terminate`. */
  act: string
  keep?: string
  kind?: 'danger' | 'primary'
  /** The number of things. */
  count?: number
  isBusy?: boolean
  onAct: () => void
  onClose: () => void
}

/** The form of a dialog that asks for confirmation. For many things, the user has to type their number. */
export function ConfirmForm(props: ConfirmFormProps) {
  const { children, act, keep = 'Keep it', kind = 'danger', count = 1, isBusy = false, onAct, onClose } = props
  const [typed, setTyped] = useState('')
  const isSure = isSureOf(count, typed)
  const note = useId()
  return (
    <form
      className="dialog-form"
      aria-describedby={note}
      onSubmit={(event) => {
        event.preventDefault()
        if (isSure && !isBusy) onAct()
      }}
    >
      <div id={note} className="dialog-note">
        {children}
      </div>
      <TypedCount count={count} typed={typed} onTyped={setTyped} />
      <div className="dialog-buttons">
        <Button onClick={onClose}>{keep}</Button>
        <Button kind={kind} type="submit" disabled={!isSure || isBusy}>
          {act}
        </Button>
      </div>
    </form>
  )
}

/** If there are more things than this, the user has to type their number. */
const TYPED_ABOVE = 100

interface IsSureOfProps {
  count: number
  typed: string
  onTyped: (text: string) => void
}

export function isSureOf(count: number, typed: string): boolean {
  return count <= TYPED_ABOVE || Number(typed.replaceAll(/[\s,]/g, '')) === count
}

/** Asks for the number of things. Shows nothing if there are at most TYPED_ABOVE. */
export function TypedCount({ count, typed, onTyped }: IsSureOfProps) {
  if (count <= TYPED_ABOVE) return null
  return <TextField label={`Type ${count} to go on`} wide inputMode="numeric" value={typed} onType={onTyped} />
}
