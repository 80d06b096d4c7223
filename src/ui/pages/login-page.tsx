import { getRouteApi, useRouter } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { browserKey, isLoginIncomplete, logIn } from '../api/login.ts'
import { useStore } from '../api/store.ts'
import { LoginForm } from '../app/frame/login-form.tsx'
import { useTitle } from '../app/page.tsx'
import { Button } from '../design/controls.tsx'
import '../app/frame/frame.css'

const route = getRouteApi('/login')

export function LoginPage() {
  const { to = '/chains' } = route.useSearch()
  const router = useRouter()
  const done = () => router.history.replace(to)
  const { state, refusal, follow } = useCode(done)
  useTitle('Log in')
  const isIncomplete = useStore(isLoginIncomplete)
  return (
    <main className="login">
      <div className="login-card">
        <h1>Reprise</h1>
        {state === 'pending' ? (
          <p role="status">Logging in…</p>
        ) : state === 'asks' ? (
          <>
            <p className="login-lead">
              This browser has logged in before. The link that you followed logs it in again, maybe as another user. If
              you did not ask for it, close this page.
            </p>
            <Button kind="primary" onClick={follow}>
              Log in with this link
            </Button>
          </>
        ) : (
          <>
            <p className="login-lead">Compute sessions that retry themselves.</p>
            {isIncomplete && (
              <p role="status">
                This browser has only a part of its login: the server was updated, or the browser’s storage was cleared.
                Please log in again.
              </p>
            )}
            <LoginForm key={refusal} message={refusal} onDone={done} />
            <p className="login-help">
              On the machine of the server, <code>npx reprise ui</code> logs you in. The first token stands in the file{' '}
              <code>admin-token</code> of the server’s data directory.
            </p>
          </>
        )}
      </div>
    </main>
  )
}

/**
 * Uses the login code in the address's fragment once, and removes it at once. Any site can link to this page with its
 * own code, so a browser that is logged in asks first.
 */
function useCode(onDone: () => void): {
  state: 'asks' | 'pending' | 'form'
  refusal: string | null
  follow: () => void
} {
  const code = useRef(/^#code=([\w-]+)$/.exec(location.hash)?.[1])
  const [state, setState] = useState<'asks' | 'pending' | 'form'>(
    code.current === undefined ? 'form' : browserKey() === null ? 'pending' : 'asks',
  )
  const [refusal, setRefusal] = useState<string | null>(null)
  const follow = () => {
    const given = code.current
    if (given === undefined) return
    code.current = undefined
    setState('pending')
    logIn({ code: given }).then(onDone, (error: unknown) => {
      setRefusal((error as Error).message)
      setState('form')
    })
  }
  useEffect(() => {
    if (code.current === undefined) return
    history.replaceState(history.state, '', location.pathname + location.search)
    if (state === 'pending') follow()
    // oxlint-disable-next-line react/exhaustive-deps -- a code is used once
  }, [])
  return { state, refusal, follow }
}
