import { Dialog } from '../../design/dialog.tsx'
import { ConfirmForm, type ConfirmFormProps } from './confirm-form.tsx'

interface Props extends ConfirmFormProps {
  /** Asks, with the number of things: `Terminate 1 chain?` */
  title: string
}

/** Asks before what cannot be undone. Load it lazily: the first dialog brings a library along. */
export function Confirm({ title, ...form }: Props) {
  return (
    <Dialog title={title} onClose={form.onClose}>
      <ConfirmForm {...form} />
    </Dialog>
  )
}
