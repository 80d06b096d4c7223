import { type SubmitEvent, useState } from 'react'
import { logIn } from '../../api/login.ts'
import { Button, typed } from '../../design/controls.tsx'
import './frame.css'

export function LoginForm({ onDone, message = null }: { onDone: () => void; message?: string | null }) {
  const [refusal, setRefusal] = useState(message)
  const [isBusy, setBusy] = useState(false)
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault()
    const token = typed(event.currentTarget, 'token')
    if (token === '') return setRefusal('Paste a token.')
    setBusy(true)
    logIn({ token }).then(onDone, (error: unknown) => {
      setRefusal((error as Error).message)
      setBusy(false)
    })
  }
  return (
    <form className="login-form" onSubmit={submit}>
      <label htmlFor="token">Token</label>
      <input
        id="token"
        name="token"
        type="password"
        autoComplete="off"
        spellCheck="false"
        placeholder="rpr_…"
        maxLength={200}
        aria-invalid={refusal !== null}
        aria-describedby="token-refusal"
      />
      <p id="token-refusal" className="login-refusal" role="alert">
        {refusal}
      </p>
      <Button kind="primary" type="submit" disabled={isBusy}>
        {isBusy ? 'Logging in…' : 'Log in'}
      </Button>
    </form>
  )
}
