/**
 * The part of a login that this origin's storage keeps. The browser sends the cookie to every port of the host, this
 * only to the server that the page came from, and the server takes neither without the other.
 */
const KEPT = 'reprise-browser-key'
const HEADER = 'x-reprise-browser-key'

/** Read anew each time: another tab may have logged in. */
export function browserKey(): string | null {
  return localStorage.getItem(KEPT)
}

/** Null: nobody is logged in any more. */
export function keepBrowserKey(key: string | null): void {
  if (key === null) localStorage.removeItem(KEPT)
  else localStorage.setItem(KEPT, key)
}

/** 256 random bits, in base64url. */
export function newBrowserKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32))
  return btoa(String.fromCodePoint(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}

export function keyHeaders(key: string | null): Record<string, string> {
  return key === null ? {} : { [HEADER]: key }
}

/** Called when another tab has logged in. */
export function onOtherLogin(listener: () => void): void {
  addEventListener('storage', ({ key, newValue }) => {
    if (key === KEPT && newValue !== null) listener()
  })
}
