import { ClientConfigurationError } from './errors.ts'

/** With a trailing slash, so that paths can be appended. @throws ClientConfigurationError */
export function serverUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new ClientConfigurationError(`${JSON.stringify(text)} is not the URL of a server, like http://127.0.0.1:4000`)
  }
  if (!url.pathname.endsWith('/')) url.pathname += '/'
  return url
}
