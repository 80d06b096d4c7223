import { createStore } from './store.ts'

/**
 * The part of a login that this origin's storage keeps. The browser sends the cookie to every port of the host, but
 * this key only to the server that the page came from; the server requires both.
 */
const KEPT = 'reprise-browser-key'
const HEADER = 'x-reprise-browser-key'

/** Reads it each time, as another tab may have logged in. */
export function browserKey(): string | null {
  return localStorage.getItem(KEPT)
}

/** Null when nobody is logged in any more. */
function keepBrowserKey(key: string | null): void {
  if (key === null) localStorage.removeItem(KEPT)
  else localStorage.setItem(KEPT, key)
}

/** 256 random bits, in base64url. */
function newBrowserKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32))
  return btoa(String.fromCodePoint(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}

function keyHeaders(key: string | null): Record<string, string> {
  return key === null ? {} : { [HEADER]: key }
}

/** Called when another tab has logged in. */
function onOtherLogin(listener: () => void): void {
  addEventListener('storage', ({ key, newValue }) => {
    if (key === KEPT && newValue !== null) listener()
  })
}

/** Whether the server knows the user. `gone`: the login ended while a page was open. */
type SessionState = 'unknown' | 'known' | 'gone'

export const session = createStore<SessionState>('unknown')

/** Whether the server has answered that this browser has the cookie of a login, but not its key. */
export const isLoginIncomplete = createStore(false)

onOtherLogin(() => {
  if (session.get() === 'gone') session.set('known')
})

class LoginError extends Error {
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

/** Logs out, and reloads the page, so that no data stays. */
export async function logOut(): Promise<void> {
  await fetch('/ui/session', { method: 'DELETE', headers: keyHeaders(browserKey()) }).catch(() => null)
  keepBrowserKey(null)
  location.assign('/login')
}

/**
 * Saves the file at a path. The browser follows a link without the page's key, so the link carries a code that the
 * server has made for it, valid once.
 * @throws Error with a message for the user
 */
export async function download(path: string): Promise<void> {
  const to = new URLSearchParams({ to: path })
  const response = await fetch(`/ui/link?${to}`, { method: 'POST', headers: keyHeaders(browserKey()) }).catch(
    () => null,
  )
  if (response === null) throw new Error('The server did not answer. Is it running?')
  if (response.status === 401) session.set('gone')
  const answer = (await response.json().catch(() => ({}))) as { link?: string; detail?: string }
  if (answer.link === undefined) throw new Error(answer.detail ?? `The server answered with ${response.status}.`)
  const link = document.createElement('a')
  link.href = answer.link
  link.download = ''
  link.click()
}

interface Build {
  /** The server's build in the first answer to this page. */
  loaded: string | null
  /** The server's build in the newest answer. */
  served: string | null
}

/** The build of the web UI that the server has. */
export const build = createStore<Build>({ loaded: null, served: null })

/** When the server last answered; at first, when it sent the program. */
let answeredAt = performance.now()

/** Records that the server does not answer. */
export function noteSilence(): void {
  answeredAt = Number.NEGATIVE_INFINITY
}

/** Whether the server has answered within this time, and still did when it was last asked. */
export function hasAnsweredWithin(ms: number): boolean {
  return performance.now() - answeredAt < ms
}

/** Records the server's build and the state of the login from each answer. */
export const fetchNoting: typeof fetch = async (...request) => {
  const response = await fetch(...request).catch((error: unknown) => {
    noteSilence()
    throw error
  })
  answeredAt = performance.now()
  if (response.headers.get('x-reprise-login') === 'incomplete') isLoginIncomplete.set(true)
  const served = response.headers.get('x-reprise-build')
  const known = build.get()
  if (served !== null && served !== known.served) build.set({ loaded: known.loaded ?? served, served })
  return response
}
