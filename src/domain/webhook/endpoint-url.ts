import { WEBHOOK_URL_LENGTH_MAX } from '../limits.ts'
import { isStorableText } from '../storable-text.ts'

const WELL_KNOWN_PORT_MAX = 1023
/** `URL` omits the scheme's default port. */
const WEB_PORTS: readonly string[] = ['', '80', '443']

/**
 * What is wrong with an endpoint's URL; undefined if nothing is. Whether the address may be reached is checked at each
 * attempt.
 */
export function endpointUrlFault(text: string): string | undefined {
  if (text.length > WEBHOOK_URL_LENGTH_MAX) return `must be at most ${WEBHOOK_URL_LENGTH_MAX} characters`
  const url = isStorableText(text) ? URL.parse(text) : null
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:')) return 'must be an http:// or https:// URL'
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or a password'
  if (url.hash !== '') return 'must not have a fragment: it would not be sent'
  if (!WEB_PORTS.includes(url.port) && Number(url.port) <= WELL_KNOWN_PORT_MAX) {
    return `must have port 80 or 443, or one above ${WELL_KNOWN_PORT_MAX}`
  }
  return undefined
}
