import { browserKey, keepBrowserKey, keyHeaders, newBrowserKey, onOtherLogin } from './browser-key.ts'
import { createStore } from './store.ts'

/** Whether the server knows who this is: `gone` once it no longer does, with a page open that it was read for. */
export type SessionState = 'unknown' | 'known' | 'gone'

export const session = createStore<SessionState>('unknown')

/** Whether the server has said that this browser has the cookie of a login, but not its key. */
export const isLoginIncomplete = createStore(false)

onOtherLogin(() => {
  if (session.get() === 'gone') session.set('known')
})

export class LoginError extends Error {
  override readonly name = 'LoginError'
}

/** @throws LoginError with the server's sentence */
export async function logIn(given: { token: string } | { code: string }): Promise<void> {
  const authorization = 'token' in given ? `Bearer ${given.token}` : `Code ${given.code}`
  const key = newBrowserKey()
  const headers = { authorization, ...keyHeaders(key) }
  const response = await fetch('/ui/session', { method: 'POST', headers }).catch(() => null)
  if (response === null) throw new LoginError('The server did not answer. Is it running?')
  if (response.ok) {
    keepBrowserKey(key)
    isLoginIncomplete.set(false)
    return session.set('known')
  }
  const { detail } = (await response.json().catch(() => ({}))) as { detail?: string }
  if (response.status === 401 && 'token' in given) {
    throw new LoginError('The server does not know this token, or it is no longer valid.')
  }
  throw new LoginError(detail ?? `The server answered with ${response.status}.`)
}

/** Then the page is loaded anew, so that nothing stays of what was read. */
export async function logOut(): Promise<void> {
  await fetch('/ui/session', { method: 'DELETE', headers: keyHeaders(browserKey()) }).catch(() => null)
  keepBrowserKey(null)
  location.assign('/login')
}
