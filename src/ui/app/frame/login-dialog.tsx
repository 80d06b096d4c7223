import { useClient } from 'urql'
import { Dialog } from '../../design/dialog.tsx'
import { UiViewerDocument } from '../app.generated.ts'
import { LoginForm } from './login-form.tsx'

/** The login over a page, which stays readable and then continues. */
export function LoginDialog() {
  const client = useClient()
  return (
    <Dialog title="You are no longer logged in">
      <p>
        The token was revoked or has expired, or the page was not used for a long time. This page shows data from
        before.
      </p>
      <LoginForm
        onDone={() => void client.query(UiViewerDocument, {}, { requestPolicy: 'network-only' }).toPromise()}
      />
    </Dialog>
  )
}
