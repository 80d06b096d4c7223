import { useId, useState, type ReactNode } from 'react'
import { Button } from '../../design/button.tsx'
import { isSureOf, TypedCount } from './typed-count.tsx'

export interface ConfirmFormProps {
  /** What happens then. */
  children: ReactNode
  /** Of the button that does it: `Terminate`. */
  act: string
  keep?: string
  kind?: 'danger' | 'primary'
  /** How many things it is about. */
  count?: number
  isBusy?: boolean
  onAct: () => void
  onClose: () => void
}

/** What a dialog has that asks: of many things, their number is to be typed. */
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
