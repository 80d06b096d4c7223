import { useClient } from 'urql'
import { Dialog } from '../../design/dialog.tsx'
import { UiViewerDocument } from '../app.generated.ts'
import { LoginForm } from './login-form.tsx'

/** Over a page that stays readable, and goes on where it was. */
export function LoginDialog() {
  const client = useClient()
  return (
    <Dialog title="You are no longer logged in">
      <p>
        The token was revoked or has expired, or the page was not used for a long time. What you see is from before.
      </p>
      <LoginForm
        onDone={() => void client.query(UiViewerDocument, {}, { requestPolicy: 'network-only' }).toPromise()}
      />
    </Dialog>
  )
}
