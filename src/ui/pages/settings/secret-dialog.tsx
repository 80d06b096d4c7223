import { useState } from 'react'
import { Button } from '../../design/controls.tsx'
import { Dialog } from '../../design/dialog.tsx'

interface Props {
  title: string
  /** The purpose of the secret. */
  says: string
  secret: string
  onClose: () => void
}

/** Shows a secret once: it cannot be read again. Only its button closes it, and nothing is stored. */
export function SecretDialog({ title, says, secret, onClose }: Props) {
  const [copied, setCopied] = useState<boolean | null>(null)
  const copy = () =>
    navigator.clipboard.writeText(secret).then(
      () => setCopied(true),
      () => setCopied(false),
    )
  return (
    <Dialog title={title}>
      <div className="dialog-form">
        <p className="dialog-note">{says}</p>
        <code className="settings-secret">{secret}</code>
        <p className="field-note" role="status">
          {copied === null
            ? 'It is shown only now. Nobody can read it again.'
            : copied
              ? 'Copied. It is shown only now.'
              : 'It could not be copied: select it and copy it by hand.'}
        </p>
        <div className="dialog-buttons">
          <Button onClick={() => void copy()}>Copy</Button>
          <Button kind="primary" onClick={onClose}>
            I have stored it
          </Button>
        </div>
      </div>
    </Dialog>
  )
}
