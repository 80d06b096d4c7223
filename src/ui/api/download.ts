import { browserKey, keyHeaders } from './browser-key.ts'
import { session } from './session.ts'

/**
 * Saves what is at the path as a file. The browser follows a link without the key of the page, so the link has a code
 * that the server has made for it, and that is good once.
 * @throws Error with a sentence
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
