import { randomBytes } from 'node:crypto'

/** The login of a browser. */
export interface BrowserLogin {
  /** The cookie as `name=value`. Browsers send it to every port of the host. */
  cookie: string
  /** Stays in the storage of the origin. */
  key: string
  /** The headers of a request of a page of the server. */
  headers: Record<string, string>
}

export function newBrowserKey(): string {
  return randomBytes(32).toString('base64url')
}

/** Logs in as a browser does. `authorization`: `Bearer TOKEN` or `Code CODE`. @throws Error if it is refused */
export async function logInBrowser(url: string, authorization: string): Promise<BrowserLogin> {
  const key = newBrowserKey()
  const response = await fetch(new URL('/ui/session', url), {
    method: 'POST',
    headers: { authorization, 'x-reprise-browser-key': key },
  })
  if (response.status !== 204) throw new Error(`no login: ${response.status} ${await response.text()}`)
  return loginOf(response, key)
}

export function loginOf(response: Response, key: string): BrowserLogin {
  const cookie = response.headers.getSetCookie()[0]!.split(';')[0]!
  return { cookie, key, headers: { cookie, 'x-reprise-browser-key': key, 'sec-fetch-site': 'same-origin' } }
}
