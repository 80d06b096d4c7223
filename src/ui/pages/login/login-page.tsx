import { getRouteApi, useRouter } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { isLoginIncomplete, logIn } from '../../api/session.ts'
import { useStore } from '../../api/store.ts'
import { LoginForm } from '../../app/frame/login-form.tsx'
import './login-page.css'

const route = getRouteApi('/login')

export function LoginPage() {
  const { to = '/chains' } = route.useSearch()
  const router = useRouter()
  const done = () => router.history.replace(to)
  const { isPending, refusal } = useCode(done)
  const isIncomplete = useStore(isLoginIncomplete)
  return (
    <main className="login">
      <div className="login-card">
        <h1>Reprise</h1>
        {isPending ? (
          <p role="status">Logging in…</p>
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

/** The fragment of the address may have a code, which works once: it is removed at once, and used once. */
function useCode(onDone: () => void): { isPending: boolean; refusal: string | null } {
  const code = useRef(/^#code=([\w-]+)$/.exec(location.hash)?.[1])
  const [isPending, setPending] = useState(code.current !== undefined)
  const [refusal, setRefusal] = useState<string | null>(null)
  useEffect(() => {
    const given = code.current
    if (given === undefined) return
    code.current = undefined
    history.replaceState(history.state, '', location.pathname + location.search)
    logIn({ code: given }).then(onDone, (error: unknown) => {
      setRefusal((error as Error).message)
      setPending(false)
    })
    // oxlint-disable-next-line react/exhaustive-deps -- a code is used once
  }, [])
  return { isPending, refusal }
}
