import { type ReactNode, useEffect, useRef, useState } from 'react'
import { NO_FAULTS, placeFaults, type Problem } from '../api/problem.ts'
import { Button } from '../design/controls.tsx'
import { Dialog } from '../design/dialog.tsx'

interface Props {
  title: string
  /** Text above the fields. */
  note?: ReactNode
  /** The text of the button that sends the form. */
  act: string
  /** The text of the button that closes it. */
  keep?: string
  isDanger?: boolean
  /** False while the form cannot be sent yet. */
  isReady?: boolean
  /** The paths of the input for which the form has a field. */
  fields: readonly string[]
  /** The field of an error that names no place, by its code. */
  codes?: Readonly<Record<string, string>>
  /** Returns null after success; the caller then closes the form. */
  onSend: (form: HTMLFormElement) => Promise<Pick<Problem, 'message' | 'code' | 'issues'> | null>
  onClose: () => void
  children: (faults: Readonly<Record<string, string>>) => ReactNode
}

/** A form over the page. Shows the server's faults at their fields. Load it lazily, as it brings the dialog along. */
export function FormDialog(props: Props) {
  const {
    title,
    note,
    act,
    keep = 'Cancel',
    isDanger = false,
    isReady = true,
    fields,
    codes,
    onSend,
    onClose,
    children,
  } = props
  const [faults, setFaults] = useState(NO_FAULTS)
  const [isBusy, setBusy] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus()
  }, [faults])
  const send = async (element: HTMLFormElement) => {
    setBusy(true)
    const problem = await onSend(element)
    setBusy(false)
    if (problem) setFaults(placeFaults(problem, fields, codes))
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        ref={form}
        className="dialog-form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          if (isReady && !isBusy) void send(event.currentTarget)
        }}
      >
        {note !== undefined && <div className="dialog-note">{note}</div>}
        <div className="fields">{children(faults.fields)}</div>
        {faults.rest !== null && (
          <p className="field-note" role="alert">
            {faults.rest}
          </p>
        )}
        <div className="dialog-buttons">
          <Button onClick={onClose}>{keep}</Button>
          <Button kind={isDanger ? 'danger' : 'primary'} type="submit" disabled={!isReady || isBusy}>
            {act}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
